// SPDX-License-Identifier: Apache-2.0
// Functions that mean something else to programs built with CUDA 12 (symbol version
// libcudart.so.12): other arguments, smaller structures, names that CUDA 13 dropped. Profilers see
// them without a structure of arguments.
#include <cupti_runtime_cbid.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime/simdevice/cudart/properties.h"
#include "runtime/simdevice/cudart/properties12.h"
#include "runtime/simdevice/cudart/stub.h"
#include "runtime_impl.h"

using namespace gacer::cudart;

#define CBID(name) CUPTI_RUNTIME_TRACE_CBID_##name

// A function of 12 without per-thread variant: OLD(name, number, need, (parameters), body using
// `driver`).
#define OLD(name, cbid, need, parameters, body)                                            \
  GACER_EXPORT cudaError_t name##_cuda12 parameters {                                      \
    static constexpr ApiInfo kInfo{cbid, #name};                                           \
    return api_call<Need::need, Streams::kLegacy>(                                         \
        kInfo, no_params, [&]([[maybe_unused]] const Driver& driver) -> Outcome { body }); \
  }                                                                                        \
  GACER_AS_12(name##_cuda12, name)

// The same with the variant of the per-thread default stream.
#define OLD_STREAM(name, cbid, need, parameters, body)                                     \
  OLD(name, cbid, need, parameters, body)                                                  \
  GACER_EXPORT cudaError_t name##_ptsz_cuda12 parameters {                                 \
    static constexpr ApiInfo kInfo{cbid, #name "_ptsz"};                                   \
    return api_call<Need::need, Streams::kPerThread>(                                      \
        kInfo, no_params, [&]([[maybe_unused]] const Driver& driver) -> Outcome { body }); \
  }                                                                                        \
  GACER_AS_12(name##_ptsz_cuda12, name##_ptsz)

namespace {

constexpr int kVersion12 = 12090;  // the newest toolkit of that major version

// A device ordinal as 12 gave it; cudaCpuDeviceId is the host.
cudaMemLocation location_of(int device) {
  if (device == cudaCpuDeviceId) return {cudaMemLocationTypeHost, 0};
  return {cudaMemLocationTypeDevice, device};
}

// The parts of 13's structures that 12's have: all but the reserved words at the end.
constexpr size_t kPointerBytes12 = offsetof(cudaPointerAttributes, reserved);
constexpr size_t kViewBytes12 = offsetof(cudaResourceViewDesc, reserved);

// 12's resource description ends after the flags that follow a union of 56 bytes.
constexpr size_t kResourceBytes12 = 64;

Outcome properties12(DeviceProperties12& out, int device) {
  RT_TRY(check_device(device));
  out = {};
  RT_TRY(fill_identity(device, out));
#define PROPERTIES_12
#define ROW(field, attribute)                                     \
  out.field = static_cast<decltype(+DeviceProperties12{}.field)>( \
      device_attribute(device, CU_DEVICE_ATTRIBUTE_##attribute));
#include "runtime/simdevice/cudart/device_properties.def"
#undef ROW
#undef PROPERTIES_12
  return cudaSuccess;
}

template <typename Structure>
Outcome give(const Structure& from, void* to, size_t bytes) {
  std::memcpy(to, &from, std::min(bytes, sizeof(from)));
  return cudaSuccess;
}

}  // namespace

OLD(cudaGetDeviceProperties_v2, CBID(cudaGetDeviceProperties_v12000), kDriver,
    (DeviceProperties12 * prop, int device), {
      if (prop == nullptr) return cudaErrorInvalidValue;
      return properties12(*prop, device);
    })
// The structure as it was before 12.
OLD(cudaGetDeviceProperties, CBID(cudaGetDeviceProperties_v3020), kDriver, (void* prop, int device),
    {
      if (prop == nullptr) return cudaErrorInvalidValue;
      DeviceProperties12 all;
      RT_TRY(properties12(all, device));
      return give(all, prop, offsetof(DeviceProperties12, hostRegisterSupported));
    })
OLD(cudaPointerGetAttributes, CBID(cudaPointerGetAttributes_v4000), kContext,
    (void* attributes, const void* ptr), {
      if (attributes == nullptr) return cudaErrorInvalidValue;
      cudaPointerAttributes all;
      RT_TRY(impl::cudaPointerGetAttributes(driver, &all, ptr));
      return give(all, attributes, kPointerBytes12);
    })

OLD(cudaRuntimeGetVersion, CBID(cudaRuntimeGetVersion_v3020), kNothing, (int* version), {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = kVersion12;
  return cudaSuccess;
})
// The driver's functions in the form that they had then.
OLD_STREAM(cudaGetDriverEntryPoint, CBID(cudaGetDriverEntryPoint_v11030), kDriver,
           (const char* symbol, void** function, unsigned long long flags,
            cudaDriverEntryPointQueryResult* status),
           {
             return impl::cudaGetDriverEntryPointByVersion(driver, symbol, function, kVersion12,
                                                           flags, status);
           })

OLD(cudaMemAdvise, CBID(cudaMemAdvise_v8000), kContext,
    (const void* ptr, size_t count, cudaMemoryAdvise advice, int device),
    { return impl::cudaMemAdvise(driver, ptr, count, advice, location_of(device)); })
OLD(cudaMemAdvise_v2, CBID(cudaMemAdvise_v12020), kContext,
    (const void* ptr, size_t count, cudaMemoryAdvise advice, cudaMemLocation location),
    { return impl::cudaMemAdvise(driver, ptr, count, advice, location); })
OLD_STREAM(cudaMemPrefetchAsync, CBID(cudaMemPrefetchAsync_v8000), kContext,
           (const void* ptr, size_t count, int device, cudaStream_t stream), {
             return impl::cudaMemPrefetchAsync(driver, ptr, count, location_of(device), 0, stream);
           })
OLD_STREAM(cudaMemPrefetchAsync_v2, CBID(cudaMemPrefetchAsync_v12020), kContext,
           (const void* ptr, size_t count, cudaMemLocation location, unsigned flags,
            cudaStream_t stream),
           { return impl::cudaMemPrefetchAsync(driver, ptr, count, location, flags, stream); })
OLD_STREAM(cudaMemcpyBatchAsync, CBID(cudaMemcpyBatchAsync_v12080), kContext,
           (void** dsts, void** srcs, size_t* sizes, size_t count, cudaMemcpyAttributes* attrs,
            size_t* attribute_indices, size_t attribute_count, size_t* failed, cudaStream_t stream),
           {
             if (failed != nullptr) *failed = SIZE_MAX;  // which one is not told
             return impl::cudaMemcpyBatchAsync(driver, dsts, srcs, sizes, count, attrs,
                                               attribute_indices, attribute_count, stream);
           })
OLD_STREAM(cudaMemcpy3DBatchAsync, CBID(cudaMemcpy3DBatchAsync_v12080), kContext,
           (size_t count, cudaMemcpy3DBatchOp* operations, size_t* failed, unsigned long long flags,
            cudaStream_t stream),
           {
             if (failed != nullptr) *failed = SIZE_MAX;
             return impl::cudaMemcpy3DBatchAsync(driver, count, operations, flags, stream);
           })

OLD(cudaEventElapsedTime_v2, CBID(cudaEventElapsedTime_v12080), kContext,
    (float* ms, cudaEvent_t start, cudaEvent_t end),
    { return impl::cudaEventElapsedTime(driver, ms, start, end); })

OLD(cudaGraphAddDependencies, CBID(cudaGraphAddDependencies_v10000), kContext,
    (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count),
    { return impl::cudaGraphAddDependencies(driver, graph, from, to, nullptr, count); })
OLD(cudaGraphAddDependencies_v2, CBID(cudaGraphAddDependencies_v12030), kContext,
    (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
     const cudaGraphEdgeData* edges, size_t count),
    { return impl::cudaGraphAddDependencies(driver, graph, from, to, edges, count); })
OLD(cudaGraphRemoveDependencies, CBID(cudaGraphRemoveDependencies_v10000), kContext,
    (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count),
    { return impl::cudaGraphRemoveDependencies(driver, graph, from, to, nullptr, count); })
OLD(cudaGraphRemoveDependencies_v2, CBID(cudaGraphRemoveDependencies_v12030), kContext,
    (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
     const cudaGraphEdgeData* edges, size_t count),
    { return impl::cudaGraphRemoveDependencies(driver, graph, from, to, edges, count); })
OLD(cudaGraphGetEdges, CBID(cudaGraphGetEdges_v10000), kContext,
    (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count),
    { return impl::cudaGraphGetEdges(driver, graph, from, to, nullptr, count); })
OLD(cudaGraphGetEdges_v2, CBID(cudaGraphGetEdges_v12030), kContext,
    (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
     size_t* count),
    { return impl::cudaGraphGetEdges(driver, graph, from, to, edges, count); })
OLD(cudaGraphNodeGetDependencies, CBID(cudaGraphNodeGetDependencies_v10000), kContext,
    (cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* count),
    { return impl::cudaGraphNodeGetDependencies(driver, node, dependencies, nullptr, count); })
OLD(cudaGraphNodeGetDependencies_v2, CBID(cudaGraphNodeGetDependencies_v12030), kContext,
    (cudaGraphNode_t node, cudaGraphNode_t* dependencies, cudaGraphEdgeData* edges, size_t* count),
    { return impl::cudaGraphNodeGetDependencies(driver, node, dependencies, edges, count); })
OLD(cudaGraphNodeGetDependentNodes, CBID(cudaGraphNodeGetDependentNodes_v10000), kContext,
    (cudaGraphNode_t node, cudaGraphNode_t* dependents, size_t* count),
    { return impl::cudaGraphNodeGetDependentNodes(driver, node, dependents, nullptr, count); })
OLD(cudaGraphNodeGetDependentNodes_v2, CBID(cudaGraphNodeGetDependentNodes_v12030), kContext,
    (cudaGraphNode_t node, cudaGraphNode_t* dependents, cudaGraphEdgeData* edges, size_t* count),
    { return impl::cudaGraphNodeGetDependentNodes(driver, node, dependents, edges, count); })
OLD(cudaGraphAddNode, CBID(cudaGraphAddNode_v12020), kContext,
    (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
     cudaGraphNodeParams* params),
    { return impl::cudaGraphAddNode(driver, node, graph, dependencies, nullptr, count, params); })
OLD(cudaGraphAddNode_v2, CBID(cudaGraphAddNode_v12030), kContext,
    (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
     const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* params),
    { return impl::cudaGraphAddNode(driver, node, graph, dependencies, edges, count, params); })

OLD_STREAM(cudaStreamGetCaptureInfo, CBID(cudaStreamGetCaptureInfo_v10010), kContext,
           (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id), {
             return impl::cudaStreamGetCaptureInfo(driver, stream, status, id, nullptr, nullptr,
                                                   nullptr, nullptr);
           })
OLD_STREAM(cudaStreamGetCaptureInfo_v2, CBID(cudaStreamGetCaptureInfo_v2_v11030), kContext,
           (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
            cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count),
           {
             return impl::cudaStreamGetCaptureInfo(driver, stream, status, id, graph, dependencies,
                                                   nullptr, count);
           })
OLD_STREAM(cudaStreamGetCaptureInfo_v3, CBID(cudaStreamGetCaptureInfo_v12030), kContext,
           (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
            cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
            const cudaGraphEdgeData** edges, size_t* count),
           {
             return impl::cudaStreamGetCaptureInfo(driver, stream, status, id, graph, dependencies,
                                                   edges, count);
           })
OLD_STREAM(cudaStreamUpdateCaptureDependencies, CBID(cudaStreamUpdateCaptureDependencies_v11030),
           kContext,
           (cudaStream_t stream, cudaGraphNode_t* dependencies, size_t count, unsigned flags), {
             return impl::cudaStreamUpdateCaptureDependencies(driver, stream, dependencies, nullptr,
                                                              count, flags);
           })
OLD_STREAM(cudaStreamUpdateCaptureDependencies_v2, CBID(cudaStreamUpdateCaptureDependencies_v12030),
           kContext,
           (cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
            size_t count, unsigned flags),
           {
             return impl::cudaStreamUpdateCaptureDependencies(driver, stream, dependencies, edges,
                                                              count, flags);
           })

OLD(cudaGetTextureObjectResourceDesc, CBID(cudaGetTextureObjectResourceDesc_v5000), kContext,
    (void* desc, cudaTextureObject_t texture), {
      if (desc == nullptr) return cudaErrorInvalidValue;
      cudaResourceDesc all;
      RT_TRY(impl::cudaGetTextureObjectResourceDesc(driver, &all, texture));
      return give(all, desc, kResourceBytes12);
    })
OLD(cudaGetSurfaceObjectResourceDesc, CBID(cudaGetSurfaceObjectResourceDesc_v5000), kContext,
    (void* desc, cudaSurfaceObject_t surface), {
      if (desc == nullptr) return cudaErrorInvalidValue;
      cudaResourceDesc all;
      RT_TRY(impl::cudaGetSurfaceObjectResourceDesc(driver, &all, surface));
      return give(all, desc, kResourceBytes12);
    })
OLD(cudaGetTextureObjectResourceViewDesc, CBID(cudaGetTextureObjectResourceViewDesc_v5000),
    kContext, (void* desc, cudaTextureObject_t texture), {
      if (desc == nullptr) return cudaErrorInvalidValue;
      cudaResourceViewDesc all;
      RT_TRY(impl::cudaGetTextureObjectResourceViewDesc(driver, &all, texture));
      return give(all, desc, kViewBytes12);
    })
OLD(cudaCreateTextureObject, CBID(cudaCreateTextureObject_v5000), kContext,
    (cudaTextureObject_t * out, const cudaResourceDesc* resource, const cudaTextureDesc* texture,
     const void* view),
    {
      cudaResourceViewDesc all{};
      if (view != nullptr) std::memcpy(&all, view, kViewBytes12);
      return impl::cudaCreateTextureObject(driver, out, resource, texture,
                                           view != nullptr ? &all : nullptr);
    })

OLD(cudaThreadExit, CBID(cudaThreadExit_v3020), kDriver, (),
    { return impl::cudaDeviceReset(driver); })
OLD(cudaThreadSynchronize, CBID(cudaThreadSynchronize_v3020), kContext, (),
    { return impl::cudaDeviceSynchronize(driver); })
OLD(cudaThreadSetLimit, CBID(cudaThreadSetLimit_v3020), kContext, (cudaLimit limit, size_t value),
    { return impl::cudaDeviceSetLimit(driver, limit, value); })
OLD(cudaThreadGetLimit, CBID(cudaThreadGetLimit_v3020), kContext, (size_t * value, cudaLimit limit),
    { return impl::cudaDeviceGetLimit(driver, value, limit); })
OLD(cudaThreadGetCacheConfig, CBID(cudaThreadGetCacheConfig_v3020), kContext, (cudaFuncCache * out),
    { return impl::cudaDeviceGetCacheConfig(driver, out); })
OLD(cudaThreadSetCacheConfig, CBID(cudaThreadSetCacheConfig_v3020), kContext,
    (cudaFuncCache config), { return impl::cudaDeviceSetCacheConfig(driver, config); })
// Doubles are computed as such.
OLD(cudaSetDoubleForDevice, CBID(cudaSetDoubleForDevice_v3020), kNothing, (double*),
    { return cudaSuccess; })
OLD(cudaSetDoubleForHost, CBID(cudaSetDoubleForHost_v3020), kNothing, (double*),
    { return cudaSuccess; })

#define UNSUPPORTED_12(name)                         \
  GACER_EXPORT int name##_cuda12() {                 \
    return gacer::cudart::answer_unsupported(#name); \
  }                                                  \
  GACER_AS_12(name##_cuda12, name)
UNSUPPORTED_12(cudaLaunchCooperativeKernelMultiDevice)
UNSUPPORTED_12(cudaSignalExternalSemaphoresAsync_v2)
UNSUPPORTED_12(cudaSignalExternalSemaphoresAsync_v2_ptsz)
UNSUPPORTED_12(cudaWaitExternalSemaphoresAsync_v2)
UNSUPPORTED_12(cudaWaitExternalSemaphoresAsync_v2_ptsz)
