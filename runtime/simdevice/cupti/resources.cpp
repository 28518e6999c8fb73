// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cupti/resources.h"

#include <mutex>
#include <set>

#include "runtime/simdevice/cupti/activity.h"
#include "runtime/simdevice/cupti/memory_records.h"
#include "runtime/simdevice/cupti/subscriber.h"

namespace gacer::simcupti {
namespace {

using simdevice::ToolsCall;

constexpr uint32_t kNoId = UINT32_MAX;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE

template <typename Params>
const Params& params_of(const ToolsCall& call) {
  return *static_cast<const Params*>(call.params);
}

void resource(CUpti_CallbackIdResource id, CUcontext context, CUstream stream,
              void* descriptor = nullptr) {
  CUpti_ResourceData data{};
  data.context = context;
  data.resourceHandle.stream = stream;
  data.resourceDescriptor = descriptor;
  Subscriptions::get().call(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

class KnownContexts {
 public:
  // False: it was known.
  bool add(CUcontext context) {
    const std::lock_guard lock(mutex_);
    return contexts_.insert(context).second;
  }
  void remove(CUcontext context) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(context);
  }

 private:
  std::mutex mutex_;
  std::set<CUcontext> contexts_;
};
KnownContexts& known_contexts() {
  static KnownContexts& contexts = *new KnownContexts;
  return contexts;
}

// A primary context is retained more than once.
void context_made(CUcontext context) {
  if (!known_contexts().add(context)) return;
  Activities::get().record_context(context);
  resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, nullptr);
}

void context_ends(CUcontext context) {
  known_contexts().remove(context);
  resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, nullptr);
}

void stream_made(const ToolsCall& call, CUstream stream, unsigned flags, int priority) {
  auto* context = static_cast<CUcontext>(call.context);
  Activities::get().record_stream(call, stream, flags, priority);
  resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, stream);
}

// `module`: a CUmodule or a CUlibrary.
void module_event(CUpti_CallbackIdResource id, const ToolsCall& call, const void* module) {
  // Machine code is not at hand: its size is 0.
  CUpti_ModuleResourceData data{};
  data.moduleId = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(module) >> 4);
  resource(id, static_cast<CUcontext>(call.context), nullptr, &data);
}

void synchronized(const ToolsCall& call, CUpti_CallbackIdSync id,
                  CUpti_ActivitySynchronizationType type, CUstream stream) {
  const bool one_stream = type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  Activities::get().record_synchronization(call, type, one_stream ? stream_id(stream) : kNoId);
  CUpti_SynchronizeData data{static_cast<CUcontext>(call.context), stream};
  Subscriptions::get().call(CUPTI_CB_DOMAIN_SYNCHRONIZE, id, &data);
}

bool succeeded(const ToolsCall& call) {
  return call.result != nullptr && *static_cast<const CUresult*>(call.result) == CUDA_SUCCESS;
}

// True: the call was one of these.
bool context_or_init(const ToolsCall& call) {
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuInit:
      Activities::get().record_devices();
      resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr, nullptr);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v2:
      context_made(*params_of<cuCtxCreate_v2_params>(call).pctx);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v3:
      context_made(*params_of<cuCtxCreate_v3_params>(call).pctx);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4:
      context_made(*params_of<cuCtxCreate_v4_params>(call).pctx);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain:
      context_made(*params_of<cuDevicePrimaryCtxRetain_params>(call).pctx);
      return true;
    default:
      return false;
  }
}

bool module_loaded(const ToolsCall& call) {
  constexpr auto kLoaded = CUPTI_CBID_RESOURCE_MODULE_LOADED;
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
      module_event(kLoaded, call, *params_of<cuModuleLoad_params>(call).module);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
      module_event(kLoaded, call, *params_of<cuModuleLoadData_params>(call).module);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
      module_event(kLoaded, call, *params_of<cuModuleLoadDataEx_params>(call).module);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary:
      module_event(kLoaded, call, *params_of<cuModuleLoadFatBinary_params>(call).module);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData:
      module_event(kLoaded, call, *params_of<cuLibraryLoadData_params>(call).library);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile:
      module_event(kLoaded, call, *params_of<cuLibraryLoadFromFile_params>(call).library);
      return true;
    default:
      return false;
  }
}

void stream_or_wait(const ToolsCall& call) {
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreate: {
      const auto& params = params_of<cuStreamCreate_params>(call);
      return stream_made(call, *params.phStream, params.Flags, 0);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority: {
      const auto& params = params_of<cuStreamCreateWithPriority_params>(call);
      return stream_made(call, *params.phStream, params.flags, params.priority);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize:
      return synchronized(call, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED,
                          CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                          params_of<cuStreamSynchronize_params>(call).hStream);
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz: {
      CUstream stream = params_of<cuStreamSynchronize_ptsz_params>(call).hStream;
      return synchronized(call, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED,
                          CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                          stream == nullptr ? CU_STREAM_PER_THREAD : stream);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize:
      return synchronized(call, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED,
                          CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, nullptr);
    case CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize:
      return Activities::get().record_synchronization(
          call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, kNoId);
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent:
      return Activities::get().record_synchronization(
          call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
          stream_id(params_of<cuStreamWaitEvent_params>(call).hStream));
    default:
      return;
  }
}

}  // namespace

void resources_before(const ToolsCall& call) {
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2:
      return context_ends(params_of<cuCtxDestroy_v2_params>(call).ctx);
    case CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2:
      return resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                      static_cast<CUcontext>(call.context),
                      params_of<cuStreamDestroy_v2_params>(call).hStream);
    case CUPTI_DRIVER_TRACE_CBID_cuModuleUnload:
      return module_event(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, call,
                          params_of<cuModuleUnload_params>(call).hmod);
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload:
      return module_event(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, call,
                          params_of<cuLibraryUnload_params>(call).library);
    default:
      return;
  }
}

void resources_after(const ToolsCall& call) {
  if (!succeeded(call) || context_or_init(call) || module_loaded(call)) return;
  stream_or_wait(call);
  record_memory(call);
}

}  // namespace gacer::simcupti
