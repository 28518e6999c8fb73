// SPDX-License-Identifier: Apache-2.0
// The model's devices and contexts.
#include <cstring>

#include "tests/property/model/call.h"

namespace gacer::property {
namespace {

constexpr uint64_t kContextBase = 0x100'0000;

uint64_t new_context(Call& c, bool primary) {
  const uint64_t handle = lowest_free(c.s.contexts, kContextBase);
  c.s.contexts[handle] = {c.s.next_serial++, primary};
  return handle;
}

void drop_primary(Call& c) {
  c.drop_context(c.s.primary);
  c.s.primary = 0;
}

}  // namespace

namespace implementation {

CUresult init(Call&, unsigned flags) {
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult device_get(Call&, CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult device_count(Call&, int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult device_attribute(Call&, int* value, CUdevice_attribute which, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *value = which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 4 : 1024;
  return CUDA_SUCCESS;
}

CUresult device_uuid(Call&, CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  memset(uuid->bytes, 7, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult device_total_memory(Call&, size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = Model::kDeviceBytes;
  return CUDA_SUCCESS;
}

CUresult primary_retain(Call& c, CUcontext* context, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (c.s.primary == 0) c.s.primary = new_context(c, true);
  ++c.s.primary_users;
  answer(context, c.s.primary);
  return CUDA_SUCCESS;
}

CUresult primary_release(Call& c, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (c.s.primary_users == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--c.s.primary_users == 0) drop_primary(c);
  return CUDA_SUCCESS;
}

CUresult primary_reset(Call& c, CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (c.s.primary != 0) drop_primary(c);
  c.s.primary_users = 0;
  return CUDA_SUCCESS;
}

CUresult primary_state(Call& c, CUdevice device, unsigned* flags, int* active) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = c.s.primary != 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult context_create(Call& c, CUcontext* context, unsigned, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  const uint64_t handle = new_context(c, false);
  c.thread.contexts.push_back(handle);
  answer(context, handle);
  return CUDA_SUCCESS;
}

CUresult context_destroy(Call& c, CUcontext context) {
  const auto found = c.s.contexts.find(number(context));
  if (found == c.s.contexts.end() || found->second.primary) return CUDA_ERROR_INVALID_CONTEXT;
  if (c.context() == found->first) c.thread.contexts.pop_back();
  c.drop_context(found->first);
  return CUDA_SUCCESS;
}

CUresult context_set_current(Call& c, CUcontext context) {
  if (context != nullptr && c.s.contexts.count(number(context)) == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!c.thread.contexts.empty()) c.thread.contexts.pop_back();
  if (context != nullptr) c.thread.contexts.push_back(number(context));
  return CUDA_SUCCESS;
}

// A context that another thread has destroyed stays on the stack; it shows as none here.
CUresult context_get_current(Call& c, CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  answer(context, c.has_context() ? c.context() : 0);
  return CUDA_SUCCESS;
}

CUresult context_push(Call& c, CUcontext context) {
  if (c.s.contexts.count(number(context)) == 0) return CUDA_ERROR_INVALID_CONTEXT;
  c.thread.contexts.push_back(number(context));
  return CUDA_SUCCESS;
}

CUresult context_pop(Call& c, CUcontext* context) {
  if (c.thread.contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) answer(context, c.context());
  c.thread.contexts.pop_back();
  return CUDA_SUCCESS;
}

CUresult context_device(Call& c, CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult priority_range(Call& c, int* least, int* greatest) {
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult context_synchronize(Call& c) {
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  c.wait_for_context(c.context());
  return CUDA_SUCCESS;
}

}  // namespace implementation
}  // namespace gacer::property
