// SPDX-License-Identifier: Apache-2.0
// Lines to the MPS control daemon. No command that signals another process gets one: the servers
// that lines make up are this process itself or do not exist.
#include <string>

#include "runtime/simdevice/mps/mps_state.h"
#include "tests/fuzz/support/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gacer;
  simdevice::MpsState state;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool signals =
        line.find("terminate_client") != line.npos || line.find("shutdown_server") != line.npos;
    if (!signals) (void)state.answer(line);
    (void)simdevice::parse_memory_limits(line);
    if (const auto settings = simdevice::parse_settings(line))
      fuzz::require(settings->percentage > 0 && settings->percentage <= 100, "a percentage is one");
  }
  const auto settings = simdevice::parse_settings(state.answer("client_settings"));
  fuzz::require(settings.has_value(), "clients always find settings");
  return 0;
}
