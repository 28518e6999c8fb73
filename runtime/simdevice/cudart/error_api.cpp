// SPDX-License-Identifier: Apache-2.0
// Errors, versions, the driver's entry points, profiler control, logs.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime_impl.h"

namespace gacer::cudart::impl {

Outcome cudaGetLastError(const Driver&) {
  return take_last_error();
}
Outcome cudaPeekAtLastError(const Driver&) {
  return thread_state().last_error;
}

// Without a driver the version is 0 and that is no error.
Outcome cudaDriverGetVersion(const Driver& driver, int* driverVersion) {
  if (driverVersion == nullptr) return cudaErrorInvalidValue;
  *driverVersion = 0;
  if (!driver_found()) return cudaSuccess;
  return driver.cuDriverGetVersion(driverVersion);
}
Outcome cudaRuntimeGetVersion(const Driver&, int* runtimeVersion) {
  if (runtimeVersion == nullptr) return cudaErrorInvalidValue;
  *runtimeVersion = CUDART_VERSION;
  return cudaSuccess;
}

Outcome cudaGetDriverEntryPointByVersion(const Driver& driver, const char* symbol, void** funcPtr,
                                         unsigned cudaVersion, unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* driverStatus) {
  if (symbol == nullptr || funcPtr == nullptr) return cudaErrorInvalidValue;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const bool per_thread = &driver == &per_thread_driver();
  if (flags == cudaEnableDefault && per_thread)
    flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const CUresult result =
      driver_lookup(symbol, funcPtr, static_cast<int>(cudaVersion), flags, &status);
  if (driverStatus != nullptr) *driverStatus = static_cast<cudaDriverEntryPointQueryResult>(status);
  // What was not found is told by the status alone.
  const bool told = driverStatus != nullptr && result == CUDA_ERROR_NOT_FOUND;
  return told ? Outcome(cudaSuccess) : Outcome(result);
}
Outcome cudaGetDriverEntryPoint(const Driver& driver, const char* symbol, void** funcPtr,
                                unsigned long long flags,
                                cudaDriverEntryPointQueryResult* driverStatus) {
  return cudaGetDriverEntryPointByVersion(driver, symbol, funcPtr, CUDART_VERSION, flags,
                                          driverStatus);
}

Outcome cudaProfilerStart(const Driver& driver) {
  return driver.cuProfilerStart();
}
Outcome cudaProfilerStop(const Driver& driver) {
  return driver.cuProfilerStop();
}

Outcome cudaLogsRegisterCallback(const Driver& driver, cudaLogsCallback_t callbackFunc,
                                 void* userData, cudaLogsCallbackHandle* callback_out) {
  return driver.cuLogsRegisterCallback(reinterpret_cast<CUlogsCallback>(callbackFunc), userData,
                                       reinterpret_cast<CUlogsCallbackHandle*>(callback_out));
}
Outcome cudaLogsUnregisterCallback(const Driver& driver, cudaLogsCallbackHandle callback) {
  return driver.cuLogsUnregisterCallback(reinterpret_cast<CUlogsCallbackHandle>(callback));
}
Outcome cudaLogsCurrent(const Driver& driver, cudaLogIterator* iterator_out, unsigned flags) {
  return driver.cuLogsCurrent(iterator_out, flags);
}
Outcome cudaLogsDumpToFile(const Driver& driver, cudaLogIterator* iterator, const char* pathToFile,
                           unsigned flags) {
  return driver.cuLogsDumpToFile(iterator, pathToFile, flags);
}
Outcome cudaLogsDumpToMemory(const Driver& driver, cudaLogIterator* iterator, char* buffer,
                             size_t* size, unsigned flags) {
  return driver.cuLogsDumpToMemory(iterator, buffer, size, flags);
}

}  // namespace gacer::cudart::impl
