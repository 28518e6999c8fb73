// SPDX-License-Identifier: Apache-2.0
// Entry points: kernel and graph launches.
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/launch_entry.h"
#include "interpose/launch_path.h"
#include "interpose/memory_entry.h"

namespace gacer::interpose {
namespace {

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

[[gnu::noinline]] CUresult launch_graph(GraphLaunch launch, CUgraphExec exec, CUstream stream,
                                        bool per_thread) {
  LaunchRequest request{};
  request.kind = abi::LaunchKind::kGraph;
  request.function = abi::CoveredFunction::k_cuGraphLaunch;
  request.stream = {stream, per_thread};
  request.key.handle = reinterpret_cast<uint64_t>(exec);
  return through_gate(request, [&] {
    return with_graph_memory(exec, request.stream, [&] { return launch(exec, stream); });
  });
}

[[gnu::always_inline]] inline uint64_t pair(unsigned low, unsigned high) {
  return uint64_t{high} << 32 | low;
}

[[gnu::always_inline]] inline LaunchRequest kernel_request(abi::CoveredFunction function_kind,
                                                           CUfunction function, CUstream stream,
                                                           bool per_thread, bool never_held,
                                                           const LaunchKey& shape) {
  LaunchRequest request;
  request.kind = abi::LaunchKind::kKernel;
  request.function = function_kind;
  request.stream = {stream, per_thread};
  request.key = shape;
  request.key.handle = reinterpret_cast<uint64_t>(function);
  request.bytes = 0;
  request.never_held = never_held;
  return request;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer;             // NOLINT: entry points are global by nature
using namespace gacer::interpose;  // NOLINT

extern "C" {

#define GACER_DESCRIBE(base, per_thread, never_held)                                           \
  LaunchRequest request =                                                                      \
      kernel_request(gacer::abi::CoveredFunction::k_##base, f, stream, per_thread, never_held, \
                     {0, 0, pair(gx, gy), pair(gz, bx), pair(by, bz), smem});

#define GACER_GATED_KERNEL(symbol, base, per_thread)                                              \
  CUresult gacer_gated_##symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
                                unsigned by, unsigned bz, unsigned smem, CUstream stream,         \
                                void** params, void** extra) {                                    \
    GACER_DESCRIBE(base, per_thread, false)                                                       \
    return through_gate(request, [&] {                                                            \
      return driver().symbol(f, gx, gy, gz, bx, by, bz, smem, stream, params, extra);             \
    });                                                                                           \
  }
GACER_GATED_KERNEL(cuLaunchKernel, cuLaunchKernel, kLegacy)
GACER_GATED_KERNEL(cuLaunchKernel_ptsz, cuLaunchKernel, kPerThread)

#define GACER_COOPERATIVE_ENTRY(symbol, base, per_thread)                                        \
  CUresult gacer_hook_##symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
                               unsigned by, unsigned bz, unsigned smem, CUstream stream,         \
                               void** params) {                                                  \
    GACER_DESCRIBE(base, per_thread, true)                                                       \
    return through_gate(request, [&] {                                                           \
      return driver().symbol(f, gx, gy, gz, bx, by, bz, smem, stream, params);                   \
    });                                                                                          \
  }
GACER_COOPERATIVE_ENTRY(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, kLegacy)
GACER_COOPERATIVE_ENTRY(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel, kPerThread)

// A configuration of NULL gets the driver's own error.
#define GACER_GATED_KERNEL_EX(symbol, per_thread)                                                 \
  CUresult gacer_gated_##symbol(const CUlaunchConfig* config, CUfunction f, void** params,        \
                                void** extra) {                                                   \
    if (config == nullptr) return driver().symbol(config, f, params, extra);                      \
    const CUlaunchConfig& c = *config;                                                            \
    LaunchRequest request =                                                                       \
        kernel_request(gacer::abi::CoveredFunction::k_cuLaunchKernelEx, f, c.hStream, per_thread, \
                       is_never_held(c),                                                          \
                       {0, 0, pair(c.gridDimX, c.gridDimY), pair(c.gridDimZ, c.blockDimX),        \
                        pair(c.blockDimY, c.blockDimZ), c.sharedMemBytes});                       \
    return through_gate(request, [&] { return driver().symbol(config, f, params, extra); });      \
  }
GACER_GATED_KERNEL_EX(cuLaunchKernelEx, kLegacy)
GACER_GATED_KERNEL_EX(cuLaunchKernelEx_ptsz, kPerThread)

#define GACER_GRAPH_ENTRY(symbol, per_thread)                       \
  CUresult gacer_hook_##symbol(CUgraphExec exec, CUstream stream) { \
    return launch_graph(driver().symbol, exec, stream, per_thread); \
  }
GACER_GRAPH_ENTRY(cuGraphLaunch, kLegacy)
GACER_GRAPH_ENTRY(cuGraphLaunch_ptsz, kPerThread)

}  // extern "C"
