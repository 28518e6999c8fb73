// SPDX-License-Identifier: Apache-2.0
// cuMemcpyBatchAsync, cuMemcpy3DBatchAsync. Copies of a batch may run in any order; here they keep
// that of the list.
#include <memory>

#include "runtime/simdevice/driver/array.h"
#include "runtime/simdevice/driver/copy.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/submit.h"

using namespace gacer::simdriver;

namespace {

constexpr unsigned kKnownFlags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;

struct Batch {
  std::shared_ptr<Stream> stream;
  bool wait = false;  // a source must have been read before the call returns
};

// The legacy default stream is refused, also by its other name.
CUresult open_batch(CUstream handle, Batch& batch) {
  if (handle == nullptr || handle == kLegacyStream) return CUDA_ERROR_INVALID_VALUE;
  return resolve_stream(handle, batch.stream);
}

bool access_order_is_valid(CUmemcpySrcAccessOrder order) {
  return order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
         order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ||
         order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

CUresult check_attributes(const CUmemcpyAttributes* attributes, const size_t* first, size_t count,
                          size_t copies) {
  if (attributes == nullptr || first == nullptr || count == 0 || count > copies || first[0] != 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i)
    if ((i > 0 && first[i] <= first[i - 1]) || first[i] >= copies ||
        !access_order_is_valid(attributes[i].srcAccessOrder) ||
        (attributes[i].flags & ~kKnownFlags) != 0)
      return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

// All are checked before the first is submitted. `failed`: the first that is wrong, or `count`.
CUresult make_linear(const CUdeviceptr* dsts, const CUdeviceptr* srcs, const size_t* sizes,
                     size_t count, std::vector<CopyWork>& out, size_t& failed) {
  for (size_t i = 0; i < count; ++i) {
    failed = i;
    CopyWork work;
    const CopySide dst{dsts[i], PointerRole::kUnified, 0, 0};
    const CopySide src{srcs[i], PointerRole::kUnified, 0, 0};
    if (dsts[i] == 0 || srcs[i] == 0 || sizes[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    SIM_TRY(make_copy(Driver::get().memory, dst, src, {sizes[i], 1, 1}, work));
    out.push_back(work);
  }
  return CUDA_SUCCESS;
}

CUresult run(const Batch& batch, const std::vector<CopyWork>& copies) {
  bool wait = batch.wait;
  for (const CopyWork& copy : copies) {
    SIM_TRY(submit(batch.stream, copy));
    wait |= copy.pageable;
  }
  const bool captured = batch.stream->capture != nullptr;
  return wait && !captured ? synchronize_stream(*batch.stream) : CUDA_SUCCESS;
}

CUresult linear_batch(CUstream handle, const CUdeviceptr* dsts, const CUdeviceptr* srcs,
                      const size_t* sizes, size_t count, const CUmemcpyAttributes* attributes,
                      const size_t* first, size_t attribute_count, size_t* failed) {
  if (failed != nullptr) *failed = SIZE_MAX;
  Batch batch;
  SIM_TRY(open_batch(handle, batch));
  if (dsts == nullptr || srcs == nullptr || sizes == nullptr || count == 0)
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_attributes(attributes, first, attribute_count, count));
  for (size_t i = 0; i < attribute_count; ++i)
    batch.wait |= attributes[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  std::vector<CopyWork> copies;
  size_t wrong = SIZE_MAX;
  const CUresult made = make_linear(dsts, srcs, sizes, count, copies, wrong);
  if (made != CUDA_SUCCESS && failed != nullptr) *failed = wrong;
  return made != CUDA_SUCCESS ? made : run(batch, copies);
}

// Bytes of an element where an array takes part, else 1.
CUresult element_bytes(const CUDA_MEMCPY3D_BATCH_OP& op, size_t& out) {
  out = 1;
  bool seen = false;
  for (const CUmemcpy3DOperand* operand : {&op.src, &op.dst}) {
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) continue;
    const auto array = array_tables().arrays.find(operand->op.array.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (seen && out != array->shape.element_bytes) return CUDA_ERROR_INVALID_VALUE;
    out = array->shape.element_bytes;
    seen = true;
  }
  return CUDA_SUCCESS;
}

struct Side {
  CUmemorytype type = CU_MEMORYTYPE_UNIFIED;
  CUdeviceptr pointer = 0;
  CUarray array = nullptr;
  size_t x_bytes = 0, y = 0, z = 0, pitch = 0, height = 0;
};

CUresult read_operand(const CUmemcpy3DOperand& operand, const CUextent3D& extent, size_t element,
                      Side& out) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& array = operand.op.array;
    out = {CU_MEMORYTYPE_ARRAY,
           0,
           array.array,
           array.offset.x * element,
           array.offset.y,
           array.offset.z,
           0,
           0};
    return CUDA_SUCCESS;
  }
  const auto& memory = operand.op.ptr;
  const size_t row = memory.rowLength == 0 ? extent.width : memory.rowLength;
  const size_t rows = memory.layerHeight == 0 ? extent.height : memory.layerHeight;
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER || memory.ptr == 0 || row < extent.width ||
      rows < extent.height)
    return CUDA_ERROR_INVALID_VALUE;
  out = {CU_MEMORYTYPE_UNIFIED, memory.ptr, nullptr, 0, 0, 0, row * element, rows};
  return CUDA_SUCCESS;
}

CUresult make_shaped(const CUDA_MEMCPY3D_BATCH_OP& op, CopyWork& out) {
  const CUextent3D& extent = op.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0 ||
      !access_order_is_valid(op.srcAccessOrder) || (op.flags & ~kKnownFlags) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  size_t element = 1;
  SIM_TRY(element_bytes(op, element));
  Side src, dst;
  SIM_TRY(read_operand(op.src, extent, element, src));
  SIM_TRY(read_operand(op.dst, extent, element, dst));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = src.type;
  copy.srcDevice = src.pointer;
  copy.srcArray = src.array;
  copy.srcXInBytes = src.x_bytes;
  copy.srcY = src.y;
  copy.srcZ = src.z;
  copy.srcPitch = src.pitch;
  copy.srcHeight = src.height;
  copy.dstMemoryType = dst.type;
  copy.dstDevice = dst.pointer;
  copy.dstArray = dst.array;
  copy.dstXInBytes = dst.x_bytes;
  copy.dstY = dst.y;
  copy.dstZ = dst.z;
  copy.dstPitch = dst.pitch;
  copy.dstHeight = dst.height;
  copy.WidthInBytes = extent.width * element;
  copy.Height = extent.height;
  copy.Depth = extent.depth;
  return make_copy_3d(Driver::get().memory, copy, out);
}

CUresult shaped_batch(CUstream handle, const CUDA_MEMCPY3D_BATCH_OP* list, size_t count,
                      unsigned long long flags, size_t* failed) {
  if (failed != nullptr) *failed = SIZE_MAX;
  Batch batch;
  SIM_TRY(open_batch(handle, batch));
  if (list == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CopyWork> copies(count);
  for (size_t i = 0; i < count; ++i) {
    batch.wait |= list[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    const CUresult made = make_shaped(list[i], copies[i]);
    if (made == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return made;
  }
  return run(batch, copies);
}

}  // namespace

SIM_STREAM_PAIR(cuMemcpyBatchAsync, _ptsz,
                (CUdeviceptr * dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                 CUmemcpyAttributes* attributes, size_t* first, size_t attribute_count,
                 size_t* failed, CUstream stream),
                linear_batch, stream, dsts, srcs, sizes, count, attributes, first, attribute_count,
                failed)
SIM_STREAM_PAIR(cuMemcpyBatchAsync_v2, _ptsz,
                (CUdeviceptr * dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                 CUmemcpyAttributes* attributes, size_t* first, size_t attribute_count,
                 CUstream stream),
                linear_batch, stream, dsts, srcs, sizes, count, attributes, first, attribute_count,
                nullptr)
SIM_STREAM_PAIR(cuMemcpy3DBatchAsync, _ptsz,
                (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed,
                 unsigned long long flags, CUstream stream),
                shaped_batch, stream, list, count, flags, failed)
SIM_STREAM_PAIR(cuMemcpy3DBatchAsync_v2, _ptsz,
                (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long flags,
                 CUstream stream),
                shaped_batch, stream, list, count, flags, nullptr)
