// SPDX-License-Identifier: Apache-2.0
// The driver's side of tools_hooks.h for what is submitted: which call it belongs to, and when it
// ran.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/simdevice/driver/stream.h"
#include "runtime/simdevice/driver/work.h"
#include "runtime/simdevice/tools_hooks.h"

namespace gacer::simdriver {

extern simdevice::ToolsHooks tools_hooks;

inline bool activity_is_traced() {
  // Acquire pairs with CUPTI's release: what the handler uses is there.
  return tools_hooks.on_activity.load(std::memory_order_acquire) != nullptr;
}

// Whether the server records what is submitted.
inline std::atomic<bool> trace_wanted{false};
inline bool server_traces() {
  return trace_wanted.load(std::memory_order_relaxed);
}
// Has it do so from the next operation on, or no longer. Thread-safe.
CUresult set_trace(bool on);
// `work` was sent to `stream` as operation `seq`.
void note_submitted(const Stream& stream, uint64_t seq, const Work& work);
// Reports what has ended since the last time.
void drain_trace();

// Of the driver call that this thread is in; 0: of none that is reported.
uint32_t call_correlation();
// A copy that lives as long as the process.
const char* lasting_text(std::string_view text);

}  // namespace gacer::simdriver
