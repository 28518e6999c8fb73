// SPDX-License-Identifier: Apache-2.0
// Entry points: asynchronous copies, and memsets. Recorded, memsets charged; never held.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/launch_path.h"

namespace gacer::interpose {
namespace {

constexpr abi::LaunchKind kCopy = abi::LaunchKind::kCopy;
constexpr abi::LaunchKind kMemset = abi::LaunchKind::kMemset;

LaunchRequest transfer(abi::LaunchKind kind, uint64_t bytes, CUstream stream, bool per_thread) {
  LaunchRequest request{};
  request.kind = kind;
  request.bytes = bytes;
  request.stream = {stream, per_thread};
  return request;
}

uint64_t bytes_of(const CUDA_MEMCPY2D* copy) {
  return copy == nullptr ? 0 : uint64_t{copy->WidthInBytes} * copy->Height;
}
uint64_t bytes_of(const CUDA_MEMCPY3D* copy) {
  return copy == nullptr ? 0 : uint64_t{copy->WidthInBytes} * copy->Height * copy->Depth;
}
uint64_t bytes_of(const CUDA_MEMCPY3D_PEER* copy) {
  return copy == nullptr ? 0 : uint64_t{copy->WidthInBytes} * copy->Height * copy->Depth;
}

uint64_t sum_of(const size_t* sizes, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; sizes != nullptr && i < count; ++i) sum += sizes[i];
  return sum;
}
#if CUDA_VERSION >= 12080
uint64_t sum_of(const CUDA_MEMCPY3D_BATCH_OP* list, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; list != nullptr && i < count; ++i)
    sum += uint64_t{list[i].extent.width} * list[i].extent.height * list[i].extent.depth;
  return sum;
}
#endif

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

#define GACER_TRANSFER(symbol, per_thread, kind, bytes, parameters, arguments) \
  CUresult gacer_hook_##symbol parameters {                                    \
    if (lone_launch()) [[likely]]                                              \
      return gacer_driver_table.symbol arguments;                              \
    const auto call = [&] { return driver().symbol arguments; };               \
    LaunchRequest request = transfer(kind, bytes, stream, per_thread);         \
    return through_gate(request, call);                                        \
  }
#define GACER_TRANSFERS(symbol, kind, bytes, parameters, arguments) \
  GACER_TRANSFER(symbol, false, kind, bytes, parameters, arguments) \
  GACER_TRANSFER(symbol##_ptsz, true, kind, bytes, parameters, arguments)

GACER_TRANSFERS(cuMemcpyAsync, kCopy, count,
                (CUdeviceptr to, CUdeviceptr from, size_t count, CUstream stream),
                (to, from, count, stream))
GACER_TRANSFERS(cuMemcpyHtoDAsync_v2, kCopy, count,
                (CUdeviceptr to, const void* from, size_t count, CUstream stream),
                (to, from, count, stream))
GACER_TRANSFERS(cuMemcpyDtoHAsync_v2, kCopy, count,
                (void* to, CUdeviceptr from, size_t count, CUstream stream),
                (to, from, count, stream))
GACER_TRANSFERS(cuMemcpyDtoDAsync_v2, kCopy, count,
                (CUdeviceptr to, CUdeviceptr from, size_t count, CUstream stream),
                (to, from, count, stream))
GACER_TRANSFERS(cuMemcpyPeerAsync, kCopy, count,
                (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                 size_t count, CUstream stream),
                (to, to_context, from, from_context, count, stream))
GACER_TRANSFERS(cuMemcpy2DAsync_v2, kCopy, bytes_of(copy),
                (const CUDA_MEMCPY2D* copy, CUstream stream), (copy, stream))
GACER_TRANSFERS(cuMemcpy3DAsync_v2, kCopy, bytes_of(copy),
                (const CUDA_MEMCPY3D* copy, CUstream stream), (copy, stream))

GACER_TRANSFERS(cuMemcpy3DPeerAsync, kCopy, bytes_of(copy),
                (const CUDA_MEMCPY3D_PEER* copy, CUstream stream), (copy, stream))
GACER_TRANSFERS(cuMemcpyHtoAAsync_v2, kCopy, count,
                (CUarray to, size_t offset, const void* from, size_t count, CUstream stream),
                (to, offset, from, count, stream))
GACER_TRANSFERS(cuMemcpyAtoHAsync_v2, kCopy, count,
                (void* to, CUarray from, size_t offset, size_t count, CUstream stream),
                (to, from, offset, count, stream))
#if CUDA_VERSION >= 12080
GACER_TRANSFERS(cuMemcpyBatchAsync, kCopy, sum_of(sizes, count),
                (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count,
                 CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                 size_t* failed, CUstream stream),
                (to, from, sizes, count, attributes, indices, attribute_count, failed, stream))
GACER_TRANSFERS(cuMemcpy3DBatchAsync, kCopy, sum_of(list, count),
                (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed,
                 unsigned long long flags, CUstream stream),
                (count, list, failed, flags, stream))
#endif
#if CUDA_VERSION >= 13000
GACER_TRANSFERS(cuMemcpyBatchAsync_v2, kCopy, sum_of(sizes, count),
                (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count,
                 CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                 CUstream stream),
                (to, from, sizes, count, attributes, indices, attribute_count, stream))
GACER_TRANSFERS(cuMemcpy3DBatchAsync_v2, kCopy, sum_of(list, count),
                (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long flags,
                 CUstream stream),
                (count, list, flags, stream))
#endif

GACER_TRANSFERS(cuMemsetD8Async, kMemset, count,
                (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
                (to, value, count, stream))
GACER_TRANSFERS(cuMemsetD16Async, kMemset, count * 2,
                (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
                (to, value, count, stream))
GACER_TRANSFERS(cuMemsetD32Async, kMemset, count * 4,
                (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
                (to, value, count, stream))
GACER_TRANSFERS(cuMemsetD2D8Async, kMemset, width* height,
                (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                 CUstream stream),
                (to, pitch, value, width, height, stream))
GACER_TRANSFERS(cuMemsetD2D16Async, kMemset, width* height * 2,
                (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                 CUstream stream),
                (to, pitch, value, width, height, stream))
GACER_TRANSFERS(cuMemsetD2D32Async, kMemset, width* height * 4,
                (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                 CUstream stream),
                (to, pitch, value, width, height, stream))

// Without a stream argument: on the caller's default stream.
#define GACER_DEFAULT_MEMSET(symbol, per_thread, bytes, parameters, arguments) \
  CUresult gacer_hook_##symbol parameters {                                    \
    if (lone_launch()) [[likely]]                                              \
      return gacer_driver_table.symbol arguments;                              \
    LaunchRequest request = transfer(kMemset, bytes, nullptr, per_thread);     \
    return through_gate(request, [&] { return driver().symbol arguments; });   \
  }
#define GACER_DEFAULT_MEMSETS(symbol, bytes, parameters, arguments) \
  GACER_DEFAULT_MEMSET(symbol, false, bytes, parameters, arguments) \
  GACER_DEFAULT_MEMSET(symbol##_ptds, true, bytes, parameters, arguments)

GACER_DEFAULT_MEMSETS(cuMemsetD8_v2, count, (CUdeviceptr to, unsigned char value, size_t count),
                      (to, value, count))
GACER_DEFAULT_MEMSETS(cuMemsetD16_v2, count * 2,
                      (CUdeviceptr to, unsigned short value, size_t count), (to, value, count))
GACER_DEFAULT_MEMSETS(cuMemsetD32_v2, count * 4, (CUdeviceptr to, unsigned value, size_t count),
                      (to, value, count))
GACER_DEFAULT_MEMSETS(cuMemsetD2D8_v2, width* height,
                      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                       size_t height),
                      (to, pitch, value, width, height))
GACER_DEFAULT_MEMSETS(cuMemsetD2D16_v2, width* height * 2,
                      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                       size_t height),
                      (to, pitch, value, width, height))
GACER_DEFAULT_MEMSETS(cuMemsetD2D32_v2, width* height * 4,
                      (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height),
                      (to, pitch, value, width, height))

}  // extern "C"
