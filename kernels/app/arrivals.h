// SPDX-License-Identifier: Apache-2.0
// When requests arrive: at once after the last one (closed), at random, or as a trace says.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/app/outcome.h"

namespace gacer::kernels {

enum class ArrivalKind { kClosed, kPoisson, kTrace };

struct ArrivalSpec {
  ArrivalKind kind = ArrivalKind::kClosed;
  double rate_per_s = 0.0;  // poisson
  std::string trace_path;   // trace
};

// "closed", "poisson:RATE" (requests per second) or "trace:FILE".
Outcome<ArrivalSpec> parse_arrival(const std::string& text);

// Seconds since the start, one a line, never decreasing; blank lines and '#' comments are skipped.
// Errors name the line.
Outcome<std::vector<double>> parse_trace(const std::string& content, const std::string& path);
Outcome<std::vector<double>> load_trace(const std::string& path);

class Arrivals {
 public:
  // Reads the trace file, if there is one. The same seed gives the same arrivals everywhere.
  static Outcome<Arrivals> create(const ArrivalSpec& spec, unsigned seed);

  bool open_loop() const { return spec_.kind != ArrivalKind::kClosed; }
  // Time of the next arrival after the start; nullopt at the end of a trace. Open loop only.
  std::optional<std::uint64_t> next_ns();

 private:
  Arrivals(ArrivalSpec spec, unsigned seed) : spec_(std::move(spec)), random_(seed) {}

  ArrivalSpec spec_;
  std::mt19937_64 random_;
  double now_s_ = 0.0;
  std::vector<double> trace_s_;
  std::size_t next_in_trace_ = 0;
};

}  // namespace gacer::kernels
