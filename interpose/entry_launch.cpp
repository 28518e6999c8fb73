// SPDX-License-Identifier: Apache-2.0
// Entry points: kernel and graph launches.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/launch_path.h"

namespace gacer::interpose {
namespace {

using KernelLaunch = decltype(&::cuLaunchKernel);
using KernelLaunchEx = decltype(&::cuLaunchKernelEx);
using CooperativeLaunch = decltype(&::cuLaunchCooperativeKernel);
using GraphLaunch = decltype(&::cuGraphLaunch);

constexpr bool kLegacy = false;
constexpr bool kPerThread = true;

bool is_never_held(const CUlaunchConfig& config) {
  if (config.attrs == nullptr) return false;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative != 0)
      return true;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) return true;
  }
  return false;
}

[[gnu::noinline]] CUresult launch_ex(KernelLaunchEx launch, const CUlaunchConfig* config,
                                     CUfunction function, void** params, void** extra,
                                     bool per_thread) {
  const auto call = [&] { return launch(config, function, params, extra); };
  if (config == nullptr) return call();  // the driver's own error
  LaunchRequest request;
  request.stream = {config->hStream, per_thread};
  request.handle = reinterpret_cast<uint64_t>(function);
  request.shape.grid[0] = config->gridDimX;
  request.shape.grid[1] = config->gridDimY;
  request.shape.grid[2] = config->gridDimZ;
  request.shape.block[0] = config->blockDimX;
  request.shape.block[1] = config->blockDimY;
  request.shape.block[2] = config->blockDimZ;
  request.shape.dynamic_smem_bytes = config->sharedMemBytes;
  request.never_held = is_never_held(*config);
  return through_gate(request, call);
}

[[gnu::noinline]] CUresult launch_graph(GraphLaunch launch, CUgraphExec exec, CUstream stream,
                                        bool per_thread) {
  LaunchRequest request;
  request.kind = abi::LaunchKind::kGraph;
  request.stream = {stream, per_thread};
  request.handle = reinterpret_cast<uint64_t>(exec);
  return through_gate(request, [&] { return launch(exec, stream); });
}

// Dimensions and stream as the driver's launch functions take them.
struct PlainLaunch {
  CUfunction function;
  unsigned grid[3];
  unsigned block[3];
  unsigned smem_bytes;
  CUstream stream;
};

LaunchRequest request_of(const PlainLaunch& plain, bool per_thread, bool never_held) {
  LaunchRequest request;
  request.stream = {plain.stream, per_thread};
  request.handle = reinterpret_cast<uint64_t>(plain.function);
  for (int i = 0; i < 3; ++i) {
    request.shape.grid[i] = plain.grid[i];
    request.shape.block[i] = plain.block[i];
  }
  request.shape.dynamic_smem_bytes = plain.smem_bytes;
  request.never_held = never_held;
  return request;
}

[[gnu::noinline]] CUresult launch_plain(KernelLaunch launch, const PlainLaunch& plain,
                                        void** params, void** extra, bool per_thread) {
  const auto call = [&] {
    return launch(plain.function, plain.grid[0], plain.grid[1], plain.grid[2], plain.block[0],
                  plain.block[1], plain.block[2], plain.smem_bytes, plain.stream, params, extra);
  };
  return through_gate(request_of(plain, per_thread, false), call);
}

[[gnu::noinline]] CUresult launch_cooperative(CooperativeLaunch launch, const PlainLaunch& plain,
                                              void** params, bool per_thread) {
  const auto call = [&] {
    return launch(plain.function, plain.grid[0], plain.grid[1], plain.grid[2], plain.block[0],
                  plain.block[1], plain.block[2], plain.smem_bytes, plain.stream, params);
  };
  return through_gate(request_of(plain, per_thread, true), call);
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

// lone_launch() implies that the driver is loaded.
#define GACER_KERNEL_ENTRY(symbol, per_thread)                                                    \
  CUresult gacer_hook_##symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,  \
                               unsigned by, unsigned bz, unsigned smem, CUstream stream,          \
                               void** params, void** extra) {                                     \
    if (lone_launch()) [[likely]]                                                                 \
      return detail::driver_table.symbol(f, gx, gy, gz, bx, by, bz, smem, stream, params, extra); \
    return launch_plain(driver().symbol, {f, {gx, gy, gz}, {bx, by, bz}, smem, stream}, params,   \
                        extra, per_thread);                                                       \
  }
GACER_KERNEL_ENTRY(cuLaunchKernel, kLegacy)
GACER_KERNEL_ENTRY(cuLaunchKernel_ptsz, kPerThread)

#define GACER_KERNEL_EX_ENTRY(symbol, per_thread)                                         \
  CUresult gacer_hook_##symbol(const CUlaunchConfig* config, CUfunction f, void** params, \
                               void** extra) {                                            \
    if (lone_launch()) [[likely]]                                                         \
      return detail::driver_table.symbol(config, f, params, extra);                       \
    return launch_ex(driver().symbol, config, f, params, extra, per_thread);              \
  }
GACER_KERNEL_EX_ENTRY(cuLaunchKernelEx, kLegacy)
GACER_KERNEL_EX_ENTRY(cuLaunchKernelEx_ptsz, kPerThread)

#define GACER_COOPERATIVE_ENTRY(symbol, per_thread)                                              \
  CUresult gacer_hook_##symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
                               unsigned by, unsigned bz, unsigned smem, CUstream stream,         \
                               void** params) {                                                  \
    if (lone_launch()) [[likely]]                                                                \
      return detail::driver_table.symbol(f, gx, gy, gz, bx, by, bz, smem, stream, params);       \
    return launch_cooperative(driver().symbol, {f, {gx, gy, gz}, {bx, by, bz}, smem, stream},    \
                              params, per_thread);                                               \
  }
GACER_COOPERATIVE_ENTRY(cuLaunchCooperativeKernel, kLegacy)
GACER_COOPERATIVE_ENTRY(cuLaunchCooperativeKernel_ptsz, kPerThread)

#define GACER_GRAPH_ENTRY(symbol, per_thread)                       \
  CUresult gacer_hook_##symbol(CUgraphExec exec, CUstream stream) { \
    if (lone_launch()) [[likely]]                                   \
      return detail::driver_table.symbol(exec, stream);             \
    return launch_graph(driver().symbol, exec, stream, per_thread); \
  }
GACER_GRAPH_ENTRY(cuGraphLaunch, kLegacy)
GACER_GRAPH_ENTRY(cuGraphLaunch_ptsz, kPerThread)

}  // extern "C"
