// SPDX-License-Identifier: Apache-2.0
// cuPointerGetAttribute(s)
#include <cstring>
#include <memory>

#include "runtime/simdevice/driver/driver.h"

using namespace gacer::simdriver;

namespace {

template <typename T>
CUresult put(void* out, T value) {
  *static_cast<T*>(out) = value;
  return CUDA_SUCCESS;
}

CUcontext context_of(const Allocation& allocation) {
  CUcontext found = nullptr;
  Driver::get().contexts.for_each([&](Context& context) {
    if (context.id() == allocation.context_id)
      found = HandleTable<CUcontext, Context>::to_handle(&context);
  });
  return found;
}

CUresult read_attribute(const Allocation& memory, uint64_t address, CUpointer_attribute attribute,
                        void* out) {
  const bool device = memory.on_device();
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(out, context_of(memory));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(out, static_cast<unsigned>(device || memory.kind == MemoryKind::kManaged
                                                ? CU_MEMORYTYPE_DEVICE
                                                : CU_MEMORYTYPE_HOST));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(out, static_cast<CUdeviceptr>(address));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return device ? CUDA_ERROR_INVALID_VALUE : put(out, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(out, 0U);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(out, static_cast<unsigned long long>(memory.buffer_id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(out, memory.kind == MemoryKind::kManaged ? 1U : 0U);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(out, memory.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(out, memory.kind == MemoryKind::kDevice && memory.pool == 0 ? 1U : 0U);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(out, static_cast<CUdeviceptr>(memory.base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(out, static_cast<size_t>(memory.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(out, 1U);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(out, memory.handle_types);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

size_t attribute_bytes(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return sizeof(unsigned);
    default:
      return sizeof(uint64_t);
  }
}

}  // namespace

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  SIM_TRY(Driver::get().ready());
  const auto memory = Driver::get().memory.find(address);
  if (out == nullptr || !memory) return CUDA_ERROR_INVALID_VALUE;
  return read_attribute(*memory, address, attribute, out);
}

// Unlike the single form, this one answers zeros for a pointer that the driver does not know.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out,
                                CUdeviceptr address) {
  SIM_TRY(Driver::get().ready());
  if (attributes == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto memory = Driver::get().memory.find(address);
  for (unsigned i = 0; i < count; ++i) {
    if (out[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    memset(out[i], 0, attribute_bytes(attributes[i]));
    if (memory) read_attribute(*memory, address, attributes[i], out[i]);
    if (!memory && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) put(out[i], -2);
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  SIM_TRY(Driver::get().ready());
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
      !Driver::get().memory.find(address))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;  // every copy here is ordered already
}
