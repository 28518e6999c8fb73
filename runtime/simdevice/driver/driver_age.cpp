// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/driver_age.h"

#include <cstdlib>
#include <set>
#include <string>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/sim_log.h"

namespace gacer::simdriver {
namespace {

constexpr int kOldestVersion = 11000;

int wanted_version() {
  const char* text = getenv("SIMGPU_DRIVER_VERSION");
  if (text == nullptr || *text == '\0') return kDriverVersion;
  char* end = nullptr;
  const long version = strtol(text, &end, 10);
  if (*end == '\0' && version >= kOldestVersion && version <= kDriverVersion)
    return static_cast<int>(version);
  sim_log(LogLevel::kWarn, "SIMGPU_DRIVER_VERSION=%s is not between %d and %d: ignored", text,
          kOldestVersion, kDriverVersion);
  return kDriverVersion;
}

std::set<std::string, std::less<>> hidden_symbols() {
  std::set<std::string, std::less<>> names;
  const char* text = getenv("SIMGPU_HIDE_SYMBOLS");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    names.emplace(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return names;
}

}  // namespace

int answered_driver_version() {
  static const int version = wanted_version();
  return version;
}

bool symbol_is_hidden(std::string_view base, std::string_view symbol) {
  static const auto& hidden = *new auto(hidden_symbols());
  return hidden.contains(base) || hidden.contains(symbol);
}

}  // namespace gacer::simdriver
