// SPDX-License-Identifier: Apache-2.0
// cuCtx*
#include <atomic>
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/mem_pool.h"

using namespace gacer::simdriver;

namespace {

constexpr unsigned kKnownFlags = CU_CTX_FLAGS_MASK;
constexpr int kGreatestPriority = -5;

CUresult create_context(CUcontext* out, unsigned flags, CUdevice device, unsigned api_version,
                        const gacer::simdevice::SmMask& sms = {}) {
  SIM_TRY(check_device(device));
  if (out == nullptr || (flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(Driver::get().ready());
  auto context = std::make_shared<Context>(Driver::get().next_context_id(), device,
                                           Context::Kind::kCreated, flags, api_version, sms);
  SIM_TRY(context->open());
  *out = Driver::get().contexts.add(context);
  push_context(std::move(context));
  return CUDA_SUCCESS;
}

// Which SMs a context of limited affinity gets is not documented; here each begins where the one
// before ended, so that few contexts do not meet.
gacer::simdevice::SmMask some_sms(uint32_t count) {
  static std::atomic<uint32_t> next{0};
  const uint32_t all = Driver::get().spec().sm_count;
  const uint32_t first = next.fetch_add(count, std::memory_order_relaxed);
  gacer::simdevice::SmMask sms;
  for (uint32_t i = 0; i < count && count < all; ++i) sms.add((first + i) % all);
  return sms;
}

CUresult read_affinity(const CUexecAffinityParam* params, int count,
                       gacer::simdevice::SmMask& sms) {
  if (count == 0) return CUDA_SUCCESS;
  SIM_TRY(Driver::get().initialized());
  if (count < 0 || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (count != 1 || params->type != CU_EXEC_AFFINITY_TYPE_SM_COUNT || !Driver::get().mps())
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  const unsigned wanted = params->param.smCount.val;
  if (wanted == 0 || wanted > Driver::get().spec().sm_count) return CUDA_ERROR_INVALID_VALUE;
  sms = some_sms(wanted);
  return CUDA_SUCCESS;
}

CUcontext handle_of(const std::shared_ptr<Context>& context) {
  return HandleTable<CUcontext, Context>::to_handle(context.get());
}

CUresult synchronize(const std::shared_ptr<Context>& context) {
  SIM_TRY(refuse_during_capture());
  SIM_TRY(context->synchronize());
  return observe_completion();
}

}  // namespace

CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return create_context(out, flags, device, 3020);
}
CUresult cuCtxCreate(CUcontext* out, unsigned flags, CUdevice device) {
  return create_context(out, flags, device, 3010);
}
CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam* affinity, int affinity_count,
                        unsigned flags, CUdevice device) {
  gacer::simdevice::SmMask sms;
  SIM_TRY(read_affinity(affinity, affinity_count, sms));
  return create_context(out, flags, device, 3021, sms);
}
CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* params, unsigned flags,
                        CUdevice device) {
  gacer::simdevice::SmMask sms;
  if (params != nullptr) {
    if (params->cigParams != nullptr)
      return params->numExecAffinityParams > 0 ? CUDA_ERROR_INVALID_VALUE
                                               : CUDA_ERROR_NOT_SUPPORTED;
    SIM_TRY(read_affinity(params->execAffinityParams, params->numExecAffinityParams, sms));
  }
  return create_context(out, flags, device, 3021, sms);
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* out, CUexecAffinityType type) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT || !Driver::get().mps())
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  out->type = type;
  out->param.smCount.val =
      context->sms().unrestricted() ? Driver::get().spec().sm_count : context->sms().count();
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_context(handle, context));
  if (context->primary() || context->green()) return CUDA_ERROR_INVALID_CONTEXT;
  Driver::get().contexts.remove(handle);
  if (peek_context() == context) pop_context();
  return context->close();
}
CUresult cuCtxDestroy(CUcontext handle) {
  return cuCtxDestroy_v2(handle);
}

// The usage count of API 3.x.
CUresult cuCtxAttach(CUcontext* out, unsigned flags) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (context->primary() || context->green()) return CUDA_ERROR_INVALID_CONTEXT;
  context->uses.fetch_add(1, std::memory_order_relaxed);
  *out = handle_of(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxDetach(CUcontext handle) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_context(handle, context));
  if (context != peek_context() || context->primary()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->uses.fetch_sub(1, std::memory_order_relaxed) > 1) return CUDA_SUCCESS;
  return cuCtxDestroy_v2(handle);
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_context(handle, context));
  push_context(std::move(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext handle) {
  return cuCtxPushCurrent_v2(handle);
}

CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  SIM_TRY(Driver::get().initialized());
  const std::shared_ptr<Context> top = pop_context();
  if (top == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (out != nullptr) *out = handle_of(top);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* out) {
  return cuCtxPopCurrent_v2(out);
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  SIM_TRY(Driver::get().initialized());
  std::shared_ptr<Context> context;
  if (handle != nullptr) SIM_TRY(find_context(handle, context));
  replace_context(std::move(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  SIM_TRY(Driver::get().initialized());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = handle_of(peek_context());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* out) {
  SIM_TRY(Driver::get().initialized());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Context> context = peek_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *out = context->device();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice_v2(CUdevice* out, CUcontext handle) {
  std::shared_ptr<Context> context;
  SIM_TRY(context_or_current(handle, context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = context->device();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = context->flags();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetFlags(unsigned flags) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if ((flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  context->set_flags(flags);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* out) {
  std::shared_ptr<Context> context;
  SIM_TRY(context_or_current(handle, context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = context->unique_id();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* out) {
  std::shared_ptr<Context> context;
  SIM_TRY(context_or_current(handle, context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = context->api_version();
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  return synchronize(context);
}
CUresult cuCtxSynchronize_v2(CUcontext handle) {
  std::shared_ptr<Context> context;
  SIM_TRY(Driver::get().ready());
  SIM_TRY(context_or_current(handle, context));
  return synchronize(context);
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* out, CUlimit limit) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return context->get_limit(limit, *out);
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) {
    SIM_TRY(synchronize(context));  // kernels on their way may use the heap
    auto message =
        make_message<gacer::simdevice::ContextMsg>(gacer::simdevice::SimType::kHeapLimit);
    message.context = context->id();
    message.value = value;
    SIM_TRY(Driver::get().link().request(message).error);
  }
  return context->set_limit(limit, value);
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = context->cache_config.load(std::memory_order_relaxed);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  context->cache_config.store(config, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
  std::shared_ptr<Context> context;
  return current_context(context);  // without effect since Maxwell
}
CUresult cuCtxResetPersistingL2Cache() {
  std::shared_ptr<Context> context;
  return current_context(context);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Context> other;
  SIM_TRY(current_context(context));
  SIM_TRY(find_context(peer, other));
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (context == other) return CUDA_ERROR_INVALID_CONTEXT;
  // A device is not its own peer.
  if (context->device() == other->device()) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return context->enable_peer(*other);
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Context> other;
  SIM_TRY(current_context(context));
  SIM_TRY(find_context(peer, other));
  return context->disable_peer(*other);
}
