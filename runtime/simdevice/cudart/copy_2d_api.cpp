// SPDX-License-Identifier: Apache-2.0
// Pitched copies, with arrays or without, and the older linear copies to and from arrays.
#include <algorithm>

#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/copy.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

constexpr size_t kNoPitch = 0;

// Positions and widths of arrays are bytes here.
struct Side {
  const void* pointer = nullptr;
  size_t pitch = 0;
  cudaArray_const_t array = nullptr;
  size_t x_bytes = 0, y = 0;
};

Outcome make_copy(const Side& dst, const Side& src, size_t width, size_t height,
                  cudaMemcpyKind kind, CUDA_MEMCPY2D& out) {
  Sides sides{};
  RT_TRY(sides_of(kind, sides));
  const bool bad_source = src.array == nullptr && height > 1 && src.pitch < width;
  const bool bad_destination = dst.array == nullptr && height > 1 && dst.pitch < width;
  if (bad_source || bad_destination) return cudaErrorInvalidPitchValue;
  out = {};
  out.srcMemoryType = src.array != nullptr ? CU_MEMORYTYPE_ARRAY : sides.source;
  out.dstMemoryType = dst.array != nullptr ? CU_MEMORYTYPE_ARRAY : sides.destination;
  out.srcXInBytes = src.x_bytes;
  out.srcY = src.y;
  out.dstXInBytes = dst.x_bytes;
  out.dstY = dst.y;
  out.srcArray = driver_array(src.array);
  out.dstArray = driver_array(dst.array);
  out.srcHost = src.pointer;
  out.srcDevice = device_address(src.pointer);
  out.dstHost = const_cast<void*>(dst.pointer);
  out.dstDevice = device_address(dst.pointer);
  out.srcPitch = src.pitch;
  out.dstPitch = dst.pitch;
  out.WidthInBytes = width;
  out.Height = height;
  return cudaSuccess;
}

Outcome copy_now_2d(const Driver& driver, const Side& dst, const Side& src, size_t width,
                    size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy{};
  RT_TRY(make_copy(dst, src, width, height, kind, copy));
  if (width == 0 || height == 0) return cudaSuccess;
  return driver.cuMemcpy2DUnaligned(&copy);
}

Outcome copy_on_2d(const Driver& driver, const Side& dst, const Side& src, size_t width,
                   size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  CUDA_MEMCPY2D copy{};
  RT_TRY(make_copy(dst, src, width, height, kind, copy));
  if (width == 0 || height == 0) return cudaSuccess;
  return driver.cuMemcpy2DAsync(&copy, stream);
}

// Rows of an array, as the older functions walk through it: the rest of a first row, whole rows,
// the beginning of a last one.
struct ArrayRows {
  size_t row_bytes = 0;
  size_t x_bytes = 0, y = 0;
};

Outcome rows_of(cudaArray_const_t array, size_t x_bytes, size_t y, ArrayRows& out) {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  size_t element = 0;
  RT_TRY(legacy_driver().cuArray3DGetDescriptor(&desc, driver_array(array)));
  RT_TRY(element_bytes(array, element));
  out = {desc.Width * element, x_bytes, y};
  return out.row_bytes > x_bytes ? cudaSuccess : cudaErrorInvalidValue;
}

// Calls copy(x_bytes, y, offset in linear memory, width, height) for each rectangle of `count`
// bytes.
template <typename Copy>
Outcome for_each_rectangle(ArrayRows rows, size_t count, const Copy& copy) {
  size_t done = 0;
  while (done < count) {
    const size_t left = count - done;
    const bool whole = rows.x_bytes == 0 && left >= rows.row_bytes;
    const size_t width = whole ? rows.row_bytes : std::min(left, rows.row_bytes - rows.x_bytes);
    const size_t height = whole ? left / rows.row_bytes : 1;
    RT_TRY(copy(rows.x_bytes, rows.y, done, width, height));
    done += width * height;
    rows.y += height;
    rows.x_bytes = 0;
  }
  return cudaSuccess;
}

const void* at(const void* pointer, size_t offset) {
  return static_cast<const char*>(pointer) + offset;
}

}  // namespace

namespace impl {

Outcome cudaMemcpy2D(const Driver& driver, void* dst, size_t dpitch, const void* src, size_t spitch,
                     size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_now_2d(driver, {dst, dpitch}, {src, spitch}, width, height, kind);
}
Outcome cudaMemcpy2DAsync(const Driver& driver, void* dst, size_t dpitch, const void* src,
                          size_t spitch, size_t width, size_t height, cudaMemcpyKind kind,
                          cudaStream_t stream) {
  return copy_on_2d(driver, {dst, dpitch}, {src, spitch}, width, height, kind, stream);
}
Outcome cudaMemcpy2DToArray(const Driver& driver, cudaArray_t dst, size_t wOffset, size_t hOffset,
                            const void* src, size_t spitch, size_t width, size_t height,
                            cudaMemcpyKind kind) {
  return copy_now_2d(driver, {nullptr, kNoPitch, dst, wOffset, hOffset}, {src, spitch}, width,
                     height, kind);
}
Outcome cudaMemcpy2DToArrayAsync(const Driver& driver, cudaArray_t dst, size_t wOffset,
                                 size_t hOffset, const void* src, size_t spitch, size_t width,
                                 size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_on_2d(driver, {nullptr, kNoPitch, dst, wOffset, hOffset}, {src, spitch}, width,
                    height, kind, stream);
}
Outcome cudaMemcpy2DFromArray(const Driver& driver, void* dst, size_t dpitch, cudaArray_const_t src,
                              size_t wOffset, size_t hOffset, size_t width, size_t height,
                              cudaMemcpyKind kind) {
  return copy_now_2d(driver, {dst, dpitch}, {nullptr, kNoPitch, src, wOffset, hOffset}, width,
                     height, kind);
}
Outcome cudaMemcpy2DFromArrayAsync(const Driver& driver, void* dst, size_t dpitch,
                                   cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                   size_t width, size_t height, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
  return copy_on_2d(driver, {dst, dpitch}, {nullptr, kNoPitch, src, wOffset, hOffset}, width,
                    height, kind, stream);
}
Outcome cudaMemcpy2DArrayToArray(const Driver& driver, cudaArray_t dst, size_t wOffsetDst,
                                 size_t hOffsetDst, cudaArray_const_t src, size_t wOffsetSrc,
                                 size_t hOffsetSrc, size_t width, size_t height,
                                 cudaMemcpyKind kind) {
  return copy_now_2d(driver, {nullptr, kNoPitch, dst, wOffsetDst, hOffsetDst},
                     {nullptr, kNoPitch, src, wOffsetSrc, hOffsetSrc}, width, height, kind);
}

Outcome cudaMemcpyToArray(const Driver& driver, cudaArray_t dst, size_t wOffset, size_t hOffset,
                          const void* src, size_t count, cudaMemcpyKind kind) {
  ArrayRows rows;
  RT_TRY(rows_of(dst, wOffset, hOffset, rows));
  return for_each_rectangle(rows, count,
                            [&](size_t x, size_t y, size_t offset, size_t w, size_t h) {
                              return copy_now_2d(driver, {nullptr, kNoPitch, dst, x, y},
                                                 {at(src, offset), w}, w, h, kind);
                            });
}
Outcome cudaMemcpyToArrayAsync(const Driver& driver, cudaArray_t dst, size_t wOffset,
                               size_t hOffset, const void* src, size_t count, cudaMemcpyKind kind,
                               cudaStream_t stream) {
  ArrayRows rows;
  RT_TRY(rows_of(dst, wOffset, hOffset, rows));
  return for_each_rectangle(rows, count,
                            [&](size_t x, size_t y, size_t offset, size_t w, size_t h) {
                              return copy_on_2d(driver, {nullptr, kNoPitch, dst, x, y},
                                                {at(src, offset), w}, w, h, kind, stream);
                            });
}
Outcome cudaMemcpyFromArray(const Driver& driver, void* dst, cudaArray_const_t src, size_t wOffset,
                            size_t hOffset, size_t count, cudaMemcpyKind kind) {
  ArrayRows rows;
  RT_TRY(rows_of(src, wOffset, hOffset, rows));
  return for_each_rectangle(rows, count,
                            [&](size_t x, size_t y, size_t offset, size_t w, size_t h) {
                              return copy_now_2d(driver, {at(dst, offset), w},
                                                 {nullptr, kNoPitch, src, x, y}, w, h, kind);
                            });
}
Outcome cudaMemcpyFromArrayAsync(const Driver& driver, void* dst, cudaArray_const_t src,
                                 size_t wOffset, size_t hOffset, size_t count, cudaMemcpyKind kind,
                                 cudaStream_t stream) {
  ArrayRows rows;
  RT_TRY(rows_of(src, wOffset, hOffset, rows));
  return for_each_rectangle(rows, count,
                            [&](size_t x, size_t y, size_t offset, size_t w, size_t h) {
                              return copy_on_2d(driver, {at(dst, offset), w},
                                                {nullptr, kNoPitch, src, x, y}, w, h, kind, stream);
                            });
}
// Each piece is contiguous on both sides.
Outcome cudaMemcpyArrayToArray(const Driver& driver, cudaArray_t dst, size_t wOffsetDst,
                               size_t hOffsetDst, cudaArray_const_t src, size_t wOffsetSrc,
                               size_t hOffsetSrc, size_t count, cudaMemcpyKind kind) {
  ArrayRows to, from;
  RT_TRY(rows_of(dst, wOffsetDst, hOffsetDst, to));
  RT_TRY(rows_of(src, wOffsetSrc, hOffsetSrc, from));
  while (count > 0) {
    const size_t width =
        std::min({count, to.row_bytes - to.x_bytes, from.row_bytes - from.x_bytes});
    RT_TRY(copy_now_2d(driver, {nullptr, kNoPitch, dst, to.x_bytes, to.y},
                       {nullptr, kNoPitch, src, from.x_bytes, from.y}, width, 1, kind));
    count -= width;
    for (ArrayRows* rows : {&to, &from}) {
      rows->x_bytes += width;
      if (rows->x_bytes < rows->row_bytes) continue;
      rows->x_bytes = 0;
      ++rows->y;
    }
  }
  return cudaSuccess;
}

}  // namespace impl
}  // namespace gacer::cudart
