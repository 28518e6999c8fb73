// SPDX-License-Identifier: Apache-2.0
// Reports of runtime calls to a profiler, through the table that the driver owns (tools_hooks.h).
#pragma once

#include <cstdint>

#include "runtime/simdevice/tools_hooks.h"

namespace gacer::cudart {

// What a profiler is told about a function.
struct ApiInfo {
  uint32_t cbid;
  const char* name;
};

using ToolsHandler = void (*)(simdevice::ToolsCall& call, bool enter);

// The handler that a profiler has set, or null. Loads the driver on first use.
ToolsHandler tools_handler();

// One reported call: enter when made, exit by leave().
class ReportedCall {
 public:
  ReportedCall(ToolsHandler handler, const ApiInfo& info, const void* params);
  void leave(int& result);

 private:
  ToolsHandler handler_;
  simdevice::ToolsCall call_;
};

}  // namespace gacer::cudart
