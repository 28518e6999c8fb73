// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/latency_stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gacer::kernels {

std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, double percent) {
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()) - 1e-9);
  const std::size_t at = rank < 1.0 ? 0 : static_cast<std::size_t>(rank) - 1;
  return sorted[std::min(at, sorted.size() - 1)];
}

LatencySummary summarise(std::vector<std::uint64_t> latencies_ns) {
  if (latencies_ns.empty()) return {};
  std::sort(latencies_ns.begin(), latencies_ns.end());
  const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-6; };
  const double total_ms =
      std::accumulate(latencies_ns.begin(), latencies_ns.end(), 0.0,
                      [&](double sum, std::uint64_t ns) { return sum + ms(ns); });
  return {ms(percentile(latencies_ns, 50.0)), ms(percentile(latencies_ns, 90.0)),
          ms(percentile(latencies_ns, 99.0)), ms(latencies_ns.back()),
          total_ms / static_cast<double>(latencies_ns.size())};
}

}  // namespace gacer::kernels
