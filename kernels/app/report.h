// SPDX-License-Identifier: Apache-2.0
// What gacer-model prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/app/latency_stats.h"
#include "kernels/app/options.h"

namespace gacer::kernels {

struct Report {
  std::string device;
  long long requests = 0;
  double elapsed_s = 0.0;
  LatencySummary latency;
  std::optional<std::uint64_t> checksum;
  long long differing_outputs = 0;  // requests whose bits were not those of the first
};

std::string report_text(const Options& options, const Report& report);
std::string report_json(const Options& options, const Report& report);

// Name, learned parameters and multiply-adds of every model at its published size.
std::string model_list_text();

}  // namespace gacer::kernels
