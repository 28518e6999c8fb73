// SPDX-License-Identifier: Apache-2.0
// Line log of the simulated driver; level from SIMGPU_LOG (error|warn|info|debug), default warn.
// The newest lines but those for debugging are kept for cuLogs*, written or not. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/log.h"

namespace gacer::simdriver {

// Reads SIMGPU_LOG; called once by cuInit. Before that GACER_LOG rules.
void read_log_level();

[[gnu::format(printf, 2, 3)]] void sim_log(LogLevel level, const char* format, ...);

// Lines are counted 0, 1, 2, ...; the counter wraps.
struct LogLines {
  std::vector<std::string> texts;  // oldest first
  bool missed = false;             // older ones are not kept any more
};
LogLines kept_log_lines(uint32_t from);
uint32_t log_lines_so_far();

// Called for each further line, from the thread that logs it. Returns its number, not 0.
using LogListener = std::function<void(LogLevel level, std::string text)>;
uint64_t add_log_listener(LogListener listener);
// False: there is none with this number.
bool remove_log_listener(uint64_t number);

}  // namespace gacer::simdriver
