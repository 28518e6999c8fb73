// SPDX-License-Identifier: Apache-2.0
// Streams and their capture.
#include <memory>

#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

struct Callback {
  cudaStreamCallback_t function;
  void* data;
};

void CUDA_CB run_callback(CUstream stream, CUresult result, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(stream, Outcome(result).error, callback->data);
}

}  // namespace

namespace impl {

Outcome cudaStreamCreate(const Driver& driver, cudaStream_t* pStream) {
  return driver.cuStreamCreate(pStream, CU_STREAM_DEFAULT);
}
Outcome cudaStreamCreateWithFlags(const Driver& driver, cudaStream_t* pStream, unsigned flags) {
  return driver.cuStreamCreate(pStream, flags);
}
Outcome cudaStreamCreateWithPriority(const Driver& driver, cudaStream_t* pStream, unsigned flags,
                                     int priority) {
  return driver.cuStreamCreateWithPriority(pStream, flags, priority);
}
Outcome cudaStreamGetPriority(const Driver& driver, cudaStream_t hStream, int* priority) {
  return driver.cuStreamGetPriority(hStream, priority);
}
Outcome cudaStreamGetFlags(const Driver& driver, cudaStream_t hStream, unsigned* flags) {
  return driver.cuStreamGetFlags(hStream, flags);
}
Outcome cudaStreamGetId(const Driver& driver, cudaStream_t hStream, unsigned long long* streamId) {
  return driver.cuStreamGetId(hStream, streamId);
}
Outcome cudaStreamGetDevice(const Driver& driver, cudaStream_t hStream, int* device) {
  return driver.cuStreamGetDevice(hStream, device);
}
Outcome cudaCtxResetPersistingL2Cache(const Driver& driver) {
  return driver.cuCtxResetPersistingL2Cache();
}
Outcome cudaStreamCopyAttributes(const Driver& driver, cudaStream_t dst, cudaStream_t src) {
  return driver.cuStreamCopyAttributes(dst, src);
}
Outcome cudaStreamGetAttribute(const Driver& driver, cudaStream_t hStream, cudaStreamAttrID attr,
                               cudaStreamAttrValue* value_out) {
  return driver.cuStreamGetAttribute(hStream, static_cast<CUstreamAttrID>(attr),
                                     same_layout<CUstreamAttrValue>(value_out));
}
Outcome cudaStreamSetAttribute(const Driver& driver, cudaStream_t hStream, cudaStreamAttrID attr,
                               const cudaStreamAttrValue* value) {
  return driver.cuStreamSetAttribute(hStream, static_cast<CUstreamAttrID>(attr),
                                     same_layout<CUstreamAttrValue>(value));
}
Outcome cudaStreamDestroy(const Driver& driver, cudaStream_t stream) {
  return driver.cuStreamDestroy(stream);
}
Outcome cudaStreamWaitEvent(const Driver& driver, cudaStream_t stream, cudaEvent_t event,
                            unsigned flags) {
  return driver.cuStreamWaitEvent(stream, event, flags);
}
Outcome cudaStreamAddCallback(const Driver& driver, cudaStream_t stream,
                              cudaStreamCallback_t callback, void* userData, unsigned flags) {
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  auto kept = std::make_unique<Callback>(Callback{callback, userData});
  RT_TRY(driver.cuStreamAddCallback(stream, run_callback, kept.get(), flags));
  (void)kept.release();  // run_callback's now
  return cudaSuccess;
}
Outcome cudaStreamSynchronize(const Driver& driver, cudaStream_t stream) {
  return driver.cuStreamSynchronize(stream);
}
Outcome cudaStreamQuery(const Driver& driver, cudaStream_t stream) {
  return driver.cuStreamQuery(stream);
}
Outcome cudaStreamAttachMemAsync(const Driver& driver, cudaStream_t stream, void* devPtr,
                                 size_t length, unsigned flags) {
  return driver.cuStreamAttachMemAsync(stream, device_address(devPtr), length, flags);
}

Outcome cudaStreamBeginCapture(const Driver& driver, cudaStream_t stream,
                               cudaStreamCaptureMode mode) {
  return driver.cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode));
}
Outcome cudaStreamBeginCaptureToGraph(const Driver& driver, cudaStream_t stream, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies,
                                      const cudaGraphEdgeData* dependencyData,
                                      size_t numDependencies, cudaStreamCaptureMode mode) {
  return driver.cuStreamBeginCaptureToGraph(
      stream, graph, dependencies, same_layout<CUgraphEdgeData>(dependencyData), numDependencies,
      static_cast<CUstreamCaptureMode>(mode));
}
Outcome cudaThreadExchangeStreamCaptureMode(const Driver& driver, cudaStreamCaptureMode* mode) {
  return driver.cuThreadExchangeStreamCaptureMode(same_layout<CUstreamCaptureMode>(mode));
}
Outcome cudaStreamEndCapture(const Driver& driver, cudaStream_t stream, cudaGraph_t* pGraph) {
  return driver.cuStreamEndCapture(stream, pGraph);
}
Outcome cudaStreamIsCapturing(const Driver& driver, cudaStream_t stream,
                              cudaStreamCaptureStatus* pCaptureStatus) {
  return driver.cuStreamIsCapturing(stream, same_layout<CUstreamCaptureStatus>(pCaptureStatus));
}
Outcome cudaStreamGetCaptureInfo(const Driver& driver, cudaStream_t stream,
                                 cudaStreamCaptureStatus* captureStatus_out,
                                 unsigned long long* id_out, cudaGraph_t* graph_out,
                                 const cudaGraphNode_t** dependencies_out,
                                 const cudaGraphEdgeData** edgeData_out,
                                 size_t* numDependencies_out) {
  return driver.cuStreamGetCaptureInfo(
      stream, same_layout<CUstreamCaptureStatus>(captureStatus_out),
      reinterpret_cast<cuuint64_t*>(id_out), graph_out, dependencies_out,
      reinterpret_cast<const CUgraphEdgeData**>(edgeData_out), numDependencies_out);
}
Outcome cudaStreamUpdateCaptureDependencies(const Driver& driver, cudaStream_t stream,
                                            cudaGraphNode_t* dependencies,
                                            const cudaGraphEdgeData* dependencyData,
                                            size_t numDependencies, unsigned flags) {
  return driver.cuStreamUpdateCaptureDependencies(
      stream, dependencies, same_layout<CUgraphEdgeData>(dependencyData), numDependencies, flags);
}

}  // namespace impl
}  // namespace gacer::cudart
