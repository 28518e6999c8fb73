// SPDX-License-Identifier: Apache-2.0
// One run of a program: its variables, and what it has seen of the driver.
#pragma once

#include <string>
#include <vector>

#include "tests/property/model/model.h"
#include "tests/property/program.h"
#include "tests/property/shim_harness.h"

namespace gacer::property {

// Results and everything that calls have handed out, by step.
using Trace = std::vector<std::vector<uint64_t>>;

struct Variables {
  CUcontext contexts[3] = {};
  CUstream streams[5] = {};
  CUevent events[4] = {};
  CUdeviceptr pointers[6] = {};
  CUgraph graphs[3] = {};
  CUgraphNode nodes[4] = {};
  CUgraphExec execs[3] = {};
  CUmodule modules[2] = {};
  CUfunction functions[4] = {};
  CUlibrary libraries[2] = {};
  CUkernel kernels[3] = {};
  CUmemoryPool pools[2] = {};
  CUmemGenericAllocationHandle physical[2] = {};
  CUdeviceptr ranges[2] = {};
};

struct World {
  // `shim` NULL: calls go straight to the driver.
  World(Model& driver, ShimHarness* harness)
      : model(driver), shim(harness), calls(harness != nullptr ? shim_table() : model_table()) {}

  // Around a call of this thread.
  void about_to(Symbol symbol, const Step& step);
  CUresult done(Symbol symbol, CUresult result);
  void saw(uint64_t value) { trace.push_back(value); }

  CUstream stream(uint32_t choice) const;
  CUfunction function(uint32_t choice) const;
  // A place of this thread's own, where threads run freely.
  void* host(uint32_t choice) const {
    const uint32_t slot =
        freely ? static_cast<uint32_t>(thread->index) * 16 + choice % 16 : choice % 32;
    return Model::host_memory() + slot * 64;
  }
  CUdeviceptr address(uint32_t choice) const { return v.pointers[choice % 6] + choice / 8 % 4 * 8; }

  // Another thread may be given the handle of what this one has destroyed: then it must not be used
  // here any more. Else the variable keeps its value: uses of a dead handle follow.
  template <typename Handle>
  void gone(Handle& variable) const {
    if (freely) variable = nullptr;
  }

  Model& model;
  ShimHarness* const shim;
  const ModelTable& calls;
  bool freely = false;  // other threads run beside this one
  Variables v;
  ThreadState* thread = nullptr;  // of the step under way
  std::vector<uint64_t> trace;    // of the step under way
};

struct StepKind {
  const char* name;
  uint32_t weight;
  bool independent;  // see Mix::kIndependent
  void (*run)(World& world, const Step& step);
};
const std::vector<StepKind>& step_kinds();
// The kinds of one subject; step_kinds() is all of them.
std::vector<StepKind> object_steps();
std::vector<StepKind> work_steps();
std::vector<StepKind> graph_steps();

// Inside a step kind.
#define GACER_CALL(symbol, ...) \
  w.done(Symbol::symbol, (w.about_to(Symbol::symbol, step), w.calls.symbol(__VA_ARGS__)))
// The variant for the thread's own default stream, now and then.
#define GACER_CALL_PTSZ(symbol, ...) \
  (step.a[5] % 4 == 0 ? GACER_CALL(symbol##_ptsz, __VA_ARGS__) : GACER_CALL(symbol, __VA_ARGS__))
#define GACER_CALL_PTDS(symbol, ...) \
  (step.a[5] % 4 == 0 ? GACER_CALL(symbol##_ptds, __VA_ARGS__) : GACER_CALL(symbol, __VA_ARGS__))

}  // namespace gacer::property
