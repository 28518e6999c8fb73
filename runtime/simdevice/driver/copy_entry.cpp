// SPDX-License-Identifier: Apache-2.0
// cuMemcpy*
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/copy.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/submit.h"

using namespace gacer::simdriver;

namespace {

CopySide device(CUdeviceptr address) {
  return {address, PointerRole::kDevice, 0, 0};
}
CopySide host(const void* address) {
  return {reinterpret_cast<uint64_t>(address), PointerRole::kHost, 0, 0};
}
CopySide unified(CUdeviceptr address) {
  return {address, PointerRole::kUnified, 0, 0};
}

// Pageable host memory is waited for in any case, since the caller may change it.
CUresult submit_copy(const std::shared_ptr<Stream>& stream, const CopyWork& work, bool wait) {
  if (work.width_bytes == 0) return CUDA_SUCCESS;
  SIM_TRY(submit(stream, work));
  const bool captured = captures_active() && is_capturing(*stream);
  return !captured && (wait || work.pageable) ? synchronize_stream(*stream) : CUDA_SUCCESS;
}

CUresult linear(CUstream stream_handle, const CopySide& dst, const CopySide& src, size_t bytes,
                bool wait) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(stream_handle, stream));
  if (bytes == 0) return CUDA_SUCCESS;
  CopyWork work;
  SIM_TRY(make_copy(Driver::get().memory, dst, src, {bytes, 1, 1}, work));
  // Between two places of the device even the plain form does not wait for the host's sake.
  return submit_copy(stream, work, wait && work.kind != gacer::simdevice::CopyKind::kDtoD);
}

CUresult shaped(CUstream stream_handle, const CUDA_MEMCPY3D* params, bool wait) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(stream_handle, stream));
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CopyWork work;
  SIM_TRY(make_copy_3d(Driver::get().memory, *params, work));
  return submit_copy(stream, work, wait && work.kind != gacer::simdevice::CopyKind::kDtoD);
}

CUDA_MEMCPY3D as_3d(const CUDA_MEMCPY2D& flat) {
  CUDA_MEMCPY3D p{};
  p.srcXInBytes = flat.srcXInBytes;
  p.srcY = flat.srcY;
  p.srcMemoryType = flat.srcMemoryType;
  p.srcHost = flat.srcHost;
  p.srcDevice = flat.srcDevice;
  p.srcArray = flat.srcArray;
  p.srcPitch = flat.srcPitch;
  p.dstXInBytes = flat.dstXInBytes;
  p.dstY = flat.dstY;
  p.dstMemoryType = flat.dstMemoryType;
  p.dstHost = flat.dstHost;
  p.dstDevice = flat.dstDevice;
  p.dstArray = flat.dstArray;
  p.dstPitch = flat.dstPitch;
  p.WidthInBytes = flat.WidthInBytes;
  p.Height = flat.Height;
  p.Depth = 1;
  return p;
}

CUresult flat(CUstream stream, const CUDA_MEMCPY2D* params, bool wait) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D p = as_3d(*params);
  return shaped(stream, &p, wait);
}

// One end of a linear copy: bytes of an array, or an address.
struct End {
  bool in_array = false;
  CUarray array = nullptr;
  uint64_t offset = 0;
  CopySide side;
};
End end_of(CUarray array, size_t offset) {
  return {true, array, offset, {}};
}
End end_of(const CopySide& side) {
  return {false, nullptr, 0, side};
}

CUresult with_arrays(CUstream stream, End dst, End src, size_t bytes, bool wait) {
  SIM_TRY(Driver::get().ready());
  for (End* end : {&dst, &src})
    if (end->in_array && bytes > 0) SIM_TRY(array_side(end->array, end->offset, bytes, end->side));
  return linear(stream, dst.side, src.side, bytes, wait);
}

CUresult peer_3d(CUstream stream, const CUDA_MEMCPY3D_PEER* params, bool wait) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SIM_TRY(find_context(params->dstContext, context));
  SIM_TRY(find_context(params->srcContext, context));
  const CUDA_MEMCPY3D_PEER& from = *params;
  CUDA_MEMCPY3D p{};
  p.srcXInBytes = from.srcXInBytes;
  p.srcY = from.srcY;
  p.srcZ = from.srcZ;
  p.srcMemoryType = from.srcMemoryType;
  p.srcHost = from.srcHost;
  p.srcDevice = from.srcDevice;
  p.srcArray = from.srcArray;
  p.srcPitch = from.srcPitch;
  p.srcHeight = from.srcHeight;
  p.dstXInBytes = from.dstXInBytes;
  p.dstY = from.dstY;
  p.dstZ = from.dstZ;
  p.dstMemoryType = from.dstMemoryType;
  p.dstHost = from.dstHost;
  p.dstDevice = from.dstDevice;
  p.dstArray = from.dstArray;
  p.dstPitch = from.dstPitch;
  p.dstHeight = from.dstHeight;
  p.WidthInBytes = from.WidthInBytes;
  p.Height = from.Height;
  p.Depth = from.Depth;
  return shaped(stream, &p, wait);
}

// Addresses are unified, so a peer copy is a copy; both contexts must exist.
CUresult peer(CUstream stream, CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
              CUcontext src_context, size_t bytes, bool wait) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_context(dst_context, context));
  SIM_TRY(find_context(src_context, context));
  return linear(stream, device(dst), device(src), bytes, wait);
}

}  // namespace

SIM_DEFAULT_STREAM_PAIR(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void* src, size_t bytes),
                        linear, device(dst), host(src), bytes, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpyDtoH_v2, _ptds, (void* dst, CUdeviceptr src, size_t bytes), linear,
                        host(dst), device(src), bytes, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
                        linear, device(dst), device(src), bytes, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), linear,
                        unified(dst), unified(src), bytes, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* params), flat, params, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* params), flat, params,
                        true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* params), shaped, params, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpyPeer, _ptds,
                        (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                         CUcontext src_context, size_t bytes),
                        peer, dst, dst_context, src, src_context, bytes, true)

SIM_STREAM_PAIR(cuMemcpyHtoDAsync_v2, _ptsz,
                (CUdeviceptr dst, const void* src, size_t bytes, CUstream stream), linear, stream,
                device(dst), host(src), bytes, false)
SIM_STREAM_PAIR(cuMemcpyDtoHAsync_v2, _ptsz,
                (void* dst, CUdeviceptr src, size_t bytes, CUstream stream), linear, stream,
                host(dst), device(src), bytes, false)
SIM_STREAM_PAIR(cuMemcpyDtoDAsync_v2, _ptsz,
                (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), linear, stream,
                device(dst), device(src), bytes, false)
SIM_STREAM_PAIR(cuMemcpyAsync, _ptsz,
                (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), linear, stream,
                unified(dst), unified(src), bytes, false)
SIM_STREAM_PAIR(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* params, CUstream stream), flat,
                stream, params, false)
SIM_STREAM_PAIR(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* params, CUstream stream), shaped,
                stream, params, false)
SIM_STREAM_PAIR(cuMemcpyPeerAsync, _ptsz,
                (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                 size_t bytes, CUstream stream),
                peer, stream, dst, dst_context, src, src_context, bytes, false)

SIM_DEFAULT_STREAM_PAIR(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* params), peer_3d, params,
                        true)
SIM_STREAM_PAIR(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* params, CUstream stream),
                peer_3d, stream, params, false)

SIM_DEFAULT_STREAM_PAIR(cuMemcpyDtoA_v2, _ptds,
                        (CUarray dst, size_t offset, CUdeviceptr src, size_t bytes), with_arrays,
                        end_of(dst, offset), end_of(device(src)), bytes, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpyAtoD_v2, _ptds,
                        (CUdeviceptr dst, CUarray src, size_t offset, size_t bytes), with_arrays,
                        end_of(device(dst)), end_of(src, offset), bytes, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpyHtoA_v2, _ptds,
                        (CUarray dst, size_t offset, const void* src, size_t bytes), with_arrays,
                        end_of(dst, offset), end_of(host(src)), bytes, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpyAtoH_v2, _ptds,
                        (void* dst, CUarray src, size_t offset, size_t bytes), with_arrays,
                        end_of(host(dst)), end_of(src, offset), bytes, true)
SIM_DEFAULT_STREAM_PAIR(cuMemcpyAtoA_v2, _ptds,
                        (CUarray dst, size_t dst_offset, CUarray src, size_t src_offset,
                         size_t bytes),
                        with_arrays, end_of(dst, dst_offset), end_of(src, src_offset), bytes, true)
SIM_STREAM_PAIR(cuMemcpyHtoAAsync_v2, _ptsz,
                (CUarray dst, size_t offset, const void* src, size_t bytes, CUstream stream),
                with_arrays, stream, end_of(dst, offset), end_of(host(src)), bytes, false)
SIM_STREAM_PAIR(cuMemcpyAtoHAsync_v2, _ptsz,
                (void* dst, CUarray src, size_t offset, size_t bytes, CUstream stream), with_arrays,
                stream, end_of(host(dst)), end_of(src, offset), bytes, false)
