// SPDX-License-Identifier: Apache-2.0
// What every exported function does around its own work: driver or context made ready, the error
// kept for cudaGetLastError, the call reported to a profiler. With none set a report costs one
// load.
#pragma once

#include "runtime/simdevice/cudart/context.h"
#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/outcome.h"
#include "runtime/simdevice/cudart/thread_state.h"
#include "runtime/simdevice/cudart/tools.h"

namespace gacer::cudart {

enum class Need {
  kNothing,
  kDriver,   // initialised
  kContext,  // one current
  kQuiet,    // nothing, and the result is not kept as an error
};
enum class Streams { kLegacy, kPerThread };

struct NoParams {};
inline constexpr auto no_params = [] { return NoParams{}; };

template <Need need>
Outcome make_ready() {
  if constexpr (need == Need::kDriver) return ensure_driver();
  if constexpr (need == Need::kContext) return ensure_context();
  return cudaSuccess;
}

template <Need need, Streams streams, typename Params, typename Body>
cudaError_t api_call(const ApiInfo& info, const Params& make_params, const Body& body) {
  const auto run = [&body]() -> cudaError_t {
    if (const Outcome ready = make_ready<need>(); ready.failed()) return ready.error;
    const Outcome outcome =
        body(streams == Streams::kLegacy ? legacy_driver() : per_thread_driver());
    return outcome.error;
  };
  const auto keep = [](cudaError_t error) {
    return need == Need::kQuiet ? error : record_error(error);
  };
  const ToolsHandler handler = tools_handler();
  if (handler == nullptr) [[likely]]
    return keep(run());
  const auto params = make_params();
  ReportedCall report(handler, info, &params);
  int result = static_cast<int>(run());
  report.leave(result);
  return keep(static_cast<cudaError_t>(result));
}

}  // namespace gacer::cudart
