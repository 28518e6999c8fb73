// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/sim_log.h"

#include <cstdlib>
#include <string_view>

namespace gacer::simdriver {

void read_log_level() {
  const char* text = getenv("SIMGPU_LOG");
  const std::string_view name = text == nullptr ? "warn" : text;
  if (name == "error") return set_log_level(LogLevel::kError);
  if (name == "info") return set_log_level(LogLevel::kInfo);
  if (name == "debug") return set_log_level(LogLevel::kDebug);
  set_log_level(LogLevel::kWarn);
}

}  // namespace gacer::simdriver
