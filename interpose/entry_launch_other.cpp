// SPDX-License-Identifier: Apache-2.0
// Entry points: the launches of CUDA before 4.0, launches on several devices, work of the host.
#include "interpose/coverage.h"
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/launch_path.h"
#include "interpose/stream_marks.h"

namespace gacer::interpose {
namespace {

using abi::CoveredFunction;

// The block's shape has been set in the function, where nobody can ask for it: it counts as one
// thread until the daemon has measured the launch.
template <typename Call>
CUresult launch_old_style(CoveredFunction kind, CUfunction function, int width, int height,
                          CUstream stream, const Call& call) {
  LaunchRequest request{};
  request.kind = abi::LaunchKind::kKernel;
  request.function = kind;
  request.stream = {stream, false};
  request.key.handle = reinterpret_cast<uint64_t>(function);
  request.key.grid_xy =
      uint64_t{static_cast<uint32_t>(height)} << 32 | static_cast<uint32_t>(width);
  request.key.grid_z_block_x = uint64_t{1} << 32 | 1;
  request.key.block_yz = uint64_t{1} << 32 | 1;
  return through_gate(request, call);
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

#define GACER_OLD_LAUNCH(symbol, width, height, stream, parameters, arguments)            \
  CUresult gacer_hook_##symbol parameters {                                               \
    if (lone_launch()) [[likely]]                                                         \
      return gacer_driver_table.symbol arguments;                                         \
    return launch_old_style(CoveredFunction::k_##symbol, function, width, height, stream, \
                            [&] { return driver().symbol arguments; });                   \
  }
GACER_OLD_LAUNCH(cuLaunch, 1, 1, nullptr, (CUfunction function), (function))
GACER_OLD_LAUNCH(cuLaunchGrid, width, height, nullptr, (CUfunction function, int width, int height),
                 (function, width, height))
GACER_OLD_LAUNCH(cuLaunchGridAsync, width, height, stream,
                 (CUfunction function, int width, int height, CUstream stream),
                 (function, width, height, stream))

CUresult gacer_hook_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned count,
                                                         unsigned flags) {
  const HookScope scope;
  if (scope.outermost())
    count_unregulated(CoveredFunction::k_cuLaunchCooperativeKernelMultiDevice,
                      gacer::abi::CoverageStream::kNoStream);
  return driver().cuLaunchCooperativeKernelMultiDevice(list, count, flags);
}

#define GACER_HOST_WORK(symbol, per_thread, parameters, arguments)                              \
  CUresult gacer_hook_##symbol parameters {                                                     \
    return with_stream_marked({stream, per_thread}, [&] { return driver().symbol arguments; }); \
  }
#define GACER_HOST_WORKS(symbol, parameters, arguments) \
  GACER_HOST_WORK(symbol, false, parameters, arguments) \
  GACER_HOST_WORK(symbol##_ptsz, true, parameters, arguments)
GACER_HOST_WORKS(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data),
                 (stream, function, data))
GACER_HOST_WORKS(cuStreamAddCallback,
                 (CUstream stream, CUstreamCallback callback, void* data, unsigned flags),
                 (stream, callback, data, flags))

}  // extern "C"
