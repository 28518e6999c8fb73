// SPDX-License-Identifier: Apache-2.0
#include "tools/size_text.h"

#include <fmt/core.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace gacer::tools {
namespace {

constexpr double kMaxBytes = 1152921504606846976.0;  // 2^60
constexpr const char* kUnitNames[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr std::string_view kUnits = "bkmgt";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<double> multiplier(const std::string& suffix) {
  if (suffix.empty() || suffix == "b") return 1.0;
  const size_t power = kUnits.find(suffix[0]);
  if (power == std::string_view::npos || power == 0) return std::nullopt;
  const std::string rest = suffix.substr(1);
  if (rest.empty() || rest == "ib") return std::pow(1024.0, static_cast<double>(power));
  if (rest == "b") return std::pow(1000.0, static_cast<double>(power));
  return std::nullopt;
}

}  // namespace

Result<uint64_t> parse_size(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string number(text.substr(0, digits));
  char* end = nullptr;
  const double value = strtod(number.c_str(), &end);
  const auto factor = multiplier(lower(text.substr(digits)));
  const bool is_number = !number.empty() && *end == '\0' && number != ".";
  const double bytes = is_number && factor ? value * *factor : 0.0;
  if (bytes < 1.0 || bytes > kMaxBytes)
    return Error{0, fmt::format("'{}' is not a size ({})", text, kSizeHelp)};
  return static_cast<uint64_t>(bytes);
}

std::string format_size(uint64_t bytes) {
  if (bytes == 0) return "0";
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  for (; value >= 1024.0; ++unit) value /= 1024.0;
  return fmt::format("{:.1f} {}", value, kUnitNames[unit]);
}

}  // namespace gacer::tools
