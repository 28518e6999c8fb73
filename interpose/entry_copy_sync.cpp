// SPDX-License-Identifier: Apache-2.0
// Entry points: synchronous copies. The program waits in them for work before, which therefore gets
// its marks; the copies themselves cost no SM-time.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/stream_marks.h"

namespace gacer::interpose {
namespace {

template <typename Call>
CUresult copy_and_wait(bool per_thread, const Call& call) {
  if (shim().session.current() == nullptr) return call();
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return with_context_marked(context, !per_thread, call);
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

#define GACER_COPY(symbol, per_thread, parameters, arguments)                    \
  CUresult gacer_hook_##symbol parameters {                                      \
    return copy_and_wait(per_thread, [&] { return driver().symbol arguments; }); \
  }
#define GACER_COPIES(symbol, parameters, arguments) \
  GACER_COPY(symbol, false, parameters, arguments)  \
  GACER_COPY(symbol##_ptds, true, parameters, arguments)

GACER_COPIES(cuMemcpyPeer,
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
              size_t count),
             (to, to_context, from, from_context, count))
GACER_COPIES(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER* copy), (copy))
GACER_COPIES(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t count), (to, from, count))
GACER_COPIES(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t count), (to, from, count))
GACER_COPIES(cuMemcpyDtoA_v2, (CUarray to, size_t offset, CUdeviceptr from, size_t count),
             (to, offset, from, count))
GACER_COPIES(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, size_t offset, size_t count),
             (to, from, offset, count))
GACER_COPIES(cuMemcpyHtoA_v2, (CUarray to, size_t offset, const void* from, size_t count),
             (to, offset, from, count))
GACER_COPIES(cuMemcpyAtoH_v2, (void* to, CUarray from, size_t offset, size_t count),
             (to, from, offset, count))
GACER_COPIES(cuMemcpyAtoA_v2,
             (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t count),
             (to, to_offset, from, from_offset, count))
GACER_COPIES(cuMemcpy2D_v2, (const CUDA_MEMCPY2D* copy), (copy))
GACER_COPIES(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D* copy), (copy))
GACER_COPIES(cuMemcpy3D_v2, (const CUDA_MEMCPY3D* copy), (copy))

}  // extern "C"
