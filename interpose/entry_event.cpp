// SPDX-License-Identifier: Apache-2.0
// Entry points: what the program waits for, asks about or lets others wait for. The work before it
// gets its mark, or is reported by the answer; nothing is held.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/stream_marks.h"

namespace gacer::interpose {
namespace {

CUcontext current_context() {
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return context;
}

// Unused pool memory goes back to the device when somebody waits for it.
template <typename Call>
CUresult then_read_pools(const Call& call) {
  const bool nested = HookScope::inside();
  const CUresult result = call();
  const HookScope scope;
  if (!nested) shim().pools.synchronised();
  return result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

#define GACER_STREAM_MARKED_ONE(symbol, per_thread, parameters, arguments)                      \
  CUresult gacer_hook_##symbol parameters {                                                     \
    return with_stream_marked({stream, per_thread}, [&] { return driver().symbol arguments; }); \
  }
#define GACER_STREAM_MARKED(symbol, parameters, arguments)      \
  GACER_STREAM_MARKED_ONE(symbol, false, parameters, arguments) \
  GACER_STREAM_MARKED_ONE(symbol##_ptsz, true, parameters, arguments)

CUresult gacer_hook_cuStreamSynchronize(CUstream stream) {
  return then_read_pools([&] {
    return with_stream_finished({stream, false},
                                [&] { return driver().cuStreamSynchronize(stream); });
  });
}
CUresult gacer_hook_cuStreamSynchronize_ptsz(CUstream stream) {
  return then_read_pools([&] {
    return with_stream_finished({stream, true},
                                [&] { return driver().cuStreamSynchronize_ptsz(stream); });
  });
}

CUresult gacer_hook_cuStreamQuery(CUstream stream) {
  return with_stream_finished({stream, false}, [&] { return driver().cuStreamQuery(stream); });
}
CUresult gacer_hook_cuStreamQuery_ptsz(CUstream stream) {
  return with_stream_finished({stream, true}, [&] { return driver().cuStreamQuery_ptsz(stream); });
}

GACER_STREAM_MARKED(cuEventRecord, (CUevent event, CUstream stream), (event, stream))
GACER_STREAM_MARKED(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
                    (event, stream, flags))

GACER_STREAM_MARKED(cuStreamWriteValue32,
                    (CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned flags),
                    (stream, to, value, flags))
GACER_STREAM_MARKED(cuStreamWriteValue32_v2,
                    (CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned flags),
                    (stream, to, value, flags))
GACER_STREAM_MARKED(cuStreamWriteValue64,
                    (CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned flags),
                    (stream, to, value, flags))
GACER_STREAM_MARKED(cuStreamWriteValue64_v2,
                    (CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned flags),
                    (stream, to, value, flags))
GACER_STREAM_MARKED(cuStreamBatchMemOp,
                    (CUstream stream, unsigned count, CUstreamBatchMemOpParams* list,
                     unsigned flags),
                    (stream, count, list, flags))
GACER_STREAM_MARKED(cuStreamBatchMemOp_v2,
                    (CUstream stream, unsigned count, CUstreamBatchMemOpParams* list,
                     unsigned flags),
                    (stream, count, list, flags))
GACER_STREAM_MARKED(cuSignalExternalSemaphoresAsync,
                    (const CUexternalSemaphore* list,
                     const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* params, unsigned count,
                     CUstream stream),
                    (list, params, count, stream))

#define GACER_CONTEXT_MARKED(symbol, context, legacy_too, parameters, arguments)                \
  CUresult gacer_hook_##symbol parameters {                                                     \
    return with_context_marked(context, legacy_too, [&] { return driver().symbol arguments; }); \
  }
CUresult gacer_hook_cuCtxSynchronize() {
  return then_read_pools([] {
    return with_context_marked(current_context(), true, [] { return driver().cuCtxSynchronize(); });
  });
}
#if CUDA_VERSION >= 13000
CUresult gacer_hook_cuCtxSynchronize_v2(CUcontext context) {
  return then_read_pools([&] {
    return with_context_marked(context, true,
                               [&] { return driver().cuCtxSynchronize_v2(context); });
  });
}
#endif
#if CUDA_VERSION >= 12050
GACER_CONTEXT_MARKED(cuCtxRecordEvent, context, false, (CUcontext context, CUevent event),
                     (context, event))
#endif
// The context that a green context's streams are known by is not to be had from its handle.
GACER_CONTEXT_MARKED(cuGreenCtxRecordEvent, nullptr, false, (CUgreenCtx context, CUevent event),
                     (context, event))

GACER_CONTEXT_MARKED(cuMemcpyDtoH_v2, current_context(), true,
                     (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
GACER_CONTEXT_MARKED(cuMemcpyDtoH_v2_ptds, current_context(), false,
                     (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
GACER_CONTEXT_MARKED(cuMemcpy, current_context(), true,
                     (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
GACER_CONTEXT_MARKED(cuMemcpy_ptds, current_context(), false,
                     (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))

}  // extern "C"
