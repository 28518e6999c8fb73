// SPDX-License-Identifier: Apache-2.0
// Percentiles of a set of latencies.
#pragma once

#include <cstdint>
#include <vector>

namespace gacer::kernels {

struct LatencySummary {
  double p50_ms = 0.0, p90_ms = 0.0, p99_ms = 0.0, max_ms = 0.0, mean_ms = 0.0;
};

// Nearest rank: the least value that at least `percent` of all values do not exceed. `sorted` is
// not empty; 0 < percent <= 100.
std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, double percent);

// All zero for no latencies.
LatencySummary summarise(std::vector<std::uint64_t> latencies_ns);

}  // namespace gacer::kernels
