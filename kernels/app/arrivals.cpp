// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/arrivals.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace gacer::kernels {
namespace {

constexpr double kMaxTraceSeconds = 1e6;

// The whole of `text` as a finite number.
std::optional<double> parse_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string trimmed(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string at_line(const std::string& path, int line, const std::string& what) {
  return path + ":" + std::to_string(line) + ": " + what;
}

}  // namespace

Outcome<ArrivalSpec> parse_arrival(const std::string& text) {
  const std::string poisson = "poisson:", trace = "trace:";
  if (text == "closed") return Outcome<ArrivalSpec>::success({});
  if (text.starts_with(poisson)) {
    const std::optional<double> rate = parse_number(text.substr(poisson.size()));
    if (rate && *rate > 0.0 && *rate <= 1e6)
      return Outcome<ArrivalSpec>::success({ArrivalKind::kPoisson, *rate, {}});
    return Outcome<ArrivalSpec>::failure("--arrival " + text +
                                         ": the rate must be a number above 0, up to 1e6");
  }
  if (text.starts_with(trace) && text.size() > trace.size())
    return Outcome<ArrivalSpec>::success({ArrivalKind::kTrace, 0.0, text.substr(trace.size())});
  return Outcome<ArrivalSpec>::failure("--arrival " + text +
                                       ": must be closed, poisson:RATE or trace:FILE");
}

Outcome<std::vector<double>> parse_trace(const std::string& content, const std::string& path) {
  using Trace = Outcome<std::vector<double>>;
  std::vector<double> times_s;
  std::istringstream lines(content);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string text = trimmed(line);
    if (text.empty()) continue;
    const std::optional<double> time_s = parse_number(text);
    if (!time_s || *time_s < 0.0 || *time_s > kMaxTraceSeconds)
      return Trace::failure(at_line(path, number, "'" + text + "' is not a time in seconds"));
    if (!times_s.empty() && *time_s < times_s.back())
      return Trace::failure(at_line(path, number, "arrival " + text + " is before the last one"));
    times_s.push_back(*time_s);
  }
  if (times_s.empty()) return Trace::failure(path + ": holds no arrival");
  return Trace::success(std::move(times_s));
}

Outcome<std::vector<double>> load_trace(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf()))
    return Outcome<std::vector<double>>::failure(path + ": cannot be read, or is empty");
  return parse_trace(content.str(), path);
}

Outcome<Arrivals> Arrivals::create(const ArrivalSpec& spec, unsigned seed) {
  Arrivals arrivals(spec, seed);
  if (spec.kind == ArrivalKind::kTrace) {
    Outcome<std::vector<double>> trace = load_trace(spec.trace_path);
    if (!trace) return Outcome<Arrivals>::failure(trace.error);
    arrivals.trace_s_ = std::move(*trace.value);
  }
  return Outcome<Arrivals>::success(std::move(arrivals));
}

std::optional<std::uint64_t> Arrivals::next_ns() {
  if (spec_.kind == ArrivalKind::kTrace) {
    if (next_in_trace_ == trace_s_.size()) return std::nullopt;
    return static_cast<std::uint64_t>(trace_s_[next_in_trace_++] * 1e9);
  }
  // std::exponential_distribution may differ between standard libraries.
  const double unit = static_cast<double>(random_() >> 11) * 0x1.0p-53;
  now_s_ += -std::log1p(-unit) / spec_.rate_per_s;
  return static_cast<std::uint64_t>(now_s_ * 1e9);
}

}  // namespace gacer::kernels
