// SPDX-License-Identifier: Apache-2.0
// cuDevicePrimaryCtx*: one reference-counted context a device and process. That of the first device
// has id 0.
#include <array>
#include <memory>
#include <mutex>

#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/primary_context.h"

using namespace gacer::simdriver;

namespace {

struct Primary {
  std::mutex mutex;
  uint32_t id = 0;                   // kept when the context is made anew
  std::shared_ptr<Context> context;  // null: inactive
  unsigned references = 0;
  unsigned flags = 0;
};

Primary& primary(CUdevice device) {
  static auto& states = *new std::array<Primary, gacer::simdevice::kMaxDevices>;
  return states[static_cast<size_t>(device)];
}

CUresult deactivate(Primary& state) {
  const std::shared_ptr<Context> context = std::exchange(state.context, nullptr);
  state.references = 0;
  if (context == nullptr) return CUDA_SUCCESS;
  Driver::get().contexts.remove(HandleTable<CUcontext, Context>::to_handle(context.get()));
  return context->close();
}

}  // namespace

namespace gacer::simdriver {

CUresult retain_primary(CUdevice device, std::shared_ptr<Context>& out) {
  Primary& state = primary(device);
  const std::lock_guard lock(state.mutex);
  if (state.context == nullptr) {
    if (device != 0 && state.id == 0) state.id = Driver::get().next_context_id();
    auto context =
        std::make_shared<Context>(state.id, device, Context::Kind::kPrimary, state.flags, 3021);
    SIM_TRY(context->open());
    Driver::get().contexts.add(context);
    state.context = std::move(context);
  }
  ++state.references;
  out = state.context;
  return CUDA_SUCCESS;
}

CUresult release_primary(CUdevice device) {
  Primary& state = primary(device);
  const std::lock_guard lock(state.mutex);
  if (state.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--state.references > 0) return CUDA_SUCCESS;
  return deactivate(state);
}

}  // namespace gacer::simdriver

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(Driver::get().ready());
  std::shared_ptr<Context> context;
  SIM_TRY(retain_primary(device, context));
  *out = HandleTable<CUcontext, Context>::to_handle(context.get());
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  SIM_TRY(check_device(device));
  return release_primary(device);
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  SIM_TRY(check_device(device));
  Primary& state = primary(device);
  const std::lock_guard lock(state.mutex);
  return deactivate(state);
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  SIM_TRY(check_device(device));
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Primary& state = primary(device);
  const std::lock_guard lock(state.mutex);
  *flags = state.context != nullptr ? state.context->flags() : state.flags;
  *active = state.context != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  SIM_TRY(check_device(device));
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) return CUDA_ERROR_INVALID_VALUE;
  Primary& state = primary(device);
  const std::lock_guard lock(state.mutex);
  state.flags = flags;
  if (state.context != nullptr) state.context->set_flags(flags);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}
