// SPDX-License-Identifier: Apache-2.0
// Events.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime_impl.h"

namespace gacer::cudart::impl {

Outcome cudaEventCreate(const Driver& driver, cudaEvent_t* event) {
  return driver.cuEventCreate(event, CU_EVENT_DEFAULT);
}
Outcome cudaEventCreateWithFlags(const Driver& driver, cudaEvent_t* event, unsigned flags) {
  return driver.cuEventCreate(event, flags);
}
Outcome cudaEventRecord(const Driver& driver, cudaEvent_t event, cudaStream_t stream) {
  return driver.cuEventRecord(event, stream);
}
Outcome cudaEventRecordWithFlags(const Driver& driver, cudaEvent_t event, cudaStream_t stream,
                                 unsigned flags) {
  return driver.cuEventRecordWithFlags(event, stream, flags);
}
Outcome cudaEventQuery(const Driver& driver, cudaEvent_t event) {
  return driver.cuEventQuery(event);
}
Outcome cudaEventSynchronize(const Driver& driver, cudaEvent_t event) {
  return driver.cuEventSynchronize(event);
}
Outcome cudaEventDestroy(const Driver& driver, cudaEvent_t event) {
  return driver.cuEventDestroy(event);
}
Outcome cudaEventElapsedTime(const Driver& driver, float* ms, cudaEvent_t start, cudaEvent_t end) {
  return driver.cuEventElapsedTime(ms, start, end);
}
Outcome cudaIpcGetEventHandle(const Driver& driver, cudaIpcEventHandle_t* handle,
                              cudaEvent_t event) {
  return driver.cuIpcGetEventHandle(same_layout<CUipcEventHandle>(handle), event);
}
Outcome cudaIpcOpenEventHandle(const Driver& driver, cudaEvent_t* event,
                               cudaIpcEventHandle_t handle) {
  return driver.cuIpcOpenEventHandle(event, *same_layout<CUipcEventHandle>(&handle));
}

}  // namespace gacer::cudart::impl
