// SPDX-License-Identifier: Apache-2.0
// Linear copies, to and from symbols, between devices; batches.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/copy.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime/simdevice/cudart/registry.h"
#include "runtime/simdevice/cudart/symbols.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

// `count` bytes of a device variable from `offset` on.
Outcome symbol_range(const void* symbol, size_t count, size_t offset, void*& out) {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  RT_TRY(find_symbol(symbol, address, bytes));
  if (offset > bytes || count > bytes - offset) return cudaErrorInvalidValue;
  out = reinterpret_cast<void*>(address + offset);
  return cudaSuccess;
}

Outcome peer_contexts(int destination, int source, CUcontext& to, CUcontext& from) {
  RT_TRY(primary_context(destination, to));
  return primary_context(source, from);
}

Outcome driver_peer_copy(const cudaMemcpy3DPeerParms& in, CUDA_MEMCPY3D_PEER& out) {
  cudaMemcpy3DParms plain{in.srcArray, in.srcPos, in.srcPtr, in.dstArray,
                          in.dstPos,   in.dstPtr, in.extent, cudaMemcpyDeviceToDevice};
  CUDA_MEMCPY3D copy{};
  RT_TRY(driver_copy(plain, copy));
  out = {};
  out.srcXInBytes = copy.srcXInBytes;
  out.srcY = copy.srcY;
  out.srcZ = copy.srcZ;
  out.srcMemoryType = copy.srcMemoryType;
  out.srcDevice = copy.srcDevice;
  out.srcArray = copy.srcArray;
  out.srcPitch = copy.srcPitch;
  out.srcHeight = copy.srcHeight;
  out.dstXInBytes = copy.dstXInBytes;
  out.dstY = copy.dstY;
  out.dstZ = copy.dstZ;
  out.dstMemoryType = copy.dstMemoryType;
  out.dstDevice = copy.dstDevice;
  out.dstArray = copy.dstArray;
  out.dstPitch = copy.dstPitch;
  out.dstHeight = copy.dstHeight;
  out.WidthInBytes = copy.WidthInBytes;
  out.Height = copy.Height;
  out.Depth = copy.Depth;
  return peer_contexts(in.dstDevice, in.srcDevice, out.dstContext, out.srcContext);
}

}  // namespace

Outcome symbol_as_destination(const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                              void*& out) {
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  if (to_host) return cudaErrorInvalidMemcpyDirection;
  return symbol_range(symbol, count, offset, out);
}
Outcome symbol_as_source(const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                         void*& out) {
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  if (from_host) return cudaErrorInvalidMemcpyDirection;
  return symbol_range(symbol, count, offset, out);
}

namespace impl {

Outcome cudaMemcpy(const Driver& driver, void* dst, const void* src, size_t count,
                   cudaMemcpyKind kind) {
  return copy_now(driver, dst, src, count, kind);
}
Outcome cudaMemcpyAsync(const Driver& driver, void* dst, const void* src, size_t count,
                        cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_on(driver, dst, src, count, kind, stream);
}
Outcome cudaMemcpyPeer(const Driver& driver, void* dst, int dstDevice, const void* src,
                       int srcDevice, size_t count) {
  CUcontext to = nullptr, from = nullptr;
  RT_TRY(peer_contexts(dstDevice, srcDevice, to, from));
  return driver.cuMemcpyPeer(device_address(dst), to, device_address(src), from, count);
}
Outcome cudaMemcpyPeerAsync(const Driver& driver, void* dst, int dstDevice, const void* src,
                            int srcDevice, size_t count, cudaStream_t stream) {
  CUcontext to = nullptr, from = nullptr;
  RT_TRY(peer_contexts(dstDevice, srcDevice, to, from));
  return driver.cuMemcpyPeerAsync(device_address(dst), to, device_address(src), from, count,
                                  stream);
}

Outcome cudaMemcpyToSymbol(const Driver& driver, const void* symbol, const void* src, size_t count,
                           size_t offset, cudaMemcpyKind kind) {
  void* dst = nullptr;
  RT_TRY(symbol_as_destination(symbol, count, offset, kind, dst));
  return copy_now(driver, dst, src, count, kind);
}
Outcome cudaMemcpyFromSymbol(const Driver& driver, void* dst, const void* symbol, size_t count,
                             size_t offset, cudaMemcpyKind kind) {
  void* src = nullptr;
  RT_TRY(symbol_as_source(symbol, count, offset, kind, src));
  return copy_now(driver, dst, src, count, kind);
}
Outcome cudaMemcpyToSymbolAsync(const Driver& driver, const void* symbol, const void* src,
                                size_t count, size_t offset, cudaMemcpyKind kind,
                                cudaStream_t stream) {
  void* dst = nullptr;
  RT_TRY(symbol_as_destination(symbol, count, offset, kind, dst));
  return copy_on(driver, dst, src, count, kind, stream);
}
Outcome cudaMemcpyFromSymbolAsync(const Driver& driver, void* dst, const void* symbol, size_t count,
                                  size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  void* src = nullptr;
  RT_TRY(symbol_as_source(symbol, count, offset, kind, src));
  return copy_on(driver, dst, src, count, kind, stream);
}
Outcome cudaGetSymbolAddress(const Driver&, void** devPtr, const void* symbol) {
  if (devPtr == nullptr) return cudaErrorInvalidValue;
  return symbol_range(symbol, 0, 0, *devPtr);
}
Outcome cudaGetSymbolSize(const Driver&, size_t* size, const void* symbol) {
  if (size == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr address = 0;
  return find_symbol(symbol, address, *size);
}

Outcome cudaMemcpy3D(const Driver& driver, const cudaMemcpy3DParms* p) {
  if (p == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy{};
  RT_TRY(driver_copy(*p, copy));
  return driver.cuMemcpy3D(&copy);
}
Outcome cudaMemcpy3DAsync(const Driver& driver, const cudaMemcpy3DParms* p, cudaStream_t stream) {
  if (p == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy{};
  RT_TRY(driver_copy(*p, copy));
  return driver.cuMemcpy3DAsync(&copy, stream);
}
Outcome cudaMemcpy3DPeer(const Driver& driver, const cudaMemcpy3DPeerParms* p) {
  if (p == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D_PEER copy{};
  RT_TRY(driver_peer_copy(*p, copy));
  return driver.cuMemcpy3DPeer(&copy);
}
Outcome cudaMemcpy3DPeerAsync(const Driver& driver, const cudaMemcpy3DPeerParms* p,
                              cudaStream_t stream) {
  if (p == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D_PEER copy{};
  RT_TRY(driver_peer_copy(*p, copy));
  return driver.cuMemcpy3DPeerAsync(&copy, stream);
}

Outcome cudaMemcpyBatchAsync(const Driver& driver, void* const* dsts, const void* const* srcs,
                             const size_t* sizes, size_t count, cudaMemcpyAttributes* attrs,
                             size_t* attrsIdxs, size_t numAttrs, cudaStream_t stream) {
  return driver.cuMemcpyBatchAsync(
      reinterpret_cast<CUdeviceptr*>(const_cast<void**>(dsts)),
      reinterpret_cast<CUdeviceptr*>(const_cast<void**>(srcs)), const_cast<size_t*>(sizes), count,
      same_layout<CUmemcpyAttributes>(attrs), attrsIdxs, numAttrs, stream);
}
Outcome cudaMemcpy3DBatchAsync(const Driver& driver, size_t numOps, cudaMemcpy3DBatchOp* opList,
                               unsigned long long flags, cudaStream_t stream) {
  return driver.cuMemcpy3DBatchAsync(numOps, same_layout<CUDA_MEMCPY3D_BATCH_OP>(opList), flags,
                                     stream);
}

}  // namespace impl
}  // namespace gacer::cudart
