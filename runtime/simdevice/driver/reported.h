// SPDX-License-Identifier: Apache-2.0
// What the generated wrappers around the exported functions do while somebody listens
// (tools_hooks.h). While nobody does, a call costs one load.
#pragma once

// Before the names are given back by sim_unrename.h.
#include "runtime/simdevice/driver/cuda_api.h"
#pragma GCC visibility push(default)
#include <generated_cuda_meta.h>
#pragma GCC visibility pop

#include "runtime/simdevice/tools_hooks.h"

namespace gacer::simdriver {

struct ReportedCall {
  uint32_t cbid;
  const char* function;
  const void* params;
  const char* kernel;  // nullptr: no launch
};

extern simdevice::ToolsHooks tools_hooks;

inline bool calls_are_reported() {
  // Acquire pairs with CUPTI's release: what the handler uses is there.
  return tools_hooks.on_call.load(std::memory_order_acquire) != nullptr;
}

// Reports enter and gives the thread a correlation id for what the call submits.
void begin_call(const ReportedCall& reported, simdevice::ToolsCall& call);
// Reports exit.
void end_call(simdevice::ToolsCall& call, CUresult& result);

// The name of the kernel behind a handle; lives as long as the process. nullptr: bad handle.
const char* kernel_name(CUfunction function);

template <typename Body>
CUresult report(const ReportedCall& reported, const Body& body) {
  simdevice::ToolsCall call;
  begin_call(reported, call);
  CUresult result = body();
  end_call(call, result);
  return result;
}

}  // namespace gacer::simdriver
