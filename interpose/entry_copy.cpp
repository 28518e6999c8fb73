// SPDX-License-Identifier: Apache-2.0
// Entry points: asynchronous copies and memsets. Recorded, memsets charged; never held.
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

}  // extern "C"
