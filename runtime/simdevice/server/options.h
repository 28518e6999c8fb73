// SPDX-License-Identifier: Apache-2.0
// Command line of simgpu-server.
#pragma once

#include <span>
#include <string>

#include "runtime/base/result.h"
#include "runtime/simdevice/device_models.h"
#include "runtime/simdevice/engine/cost_file.h"
#include "runtime/simdevice/server/kernel_runner.h"

namespace gacer::simdevice {

struct ServerOptions {
  std::string socket_path;
  const DeviceModel* device = nullptr;
  uint32_t devices = 1;
  double time_scale = 1.0;
  ExecMode exec = ExecMode::kFull;
  unsigned threads = 0;                   // 0: one per core
  uint64_t block_budget = 1'000'000'000;  // warp instructions of one block before it counts as hung
  std::string timeline_path;              // empty: none
  CostFile costs;                         // of kernels whose durations are given
  double linger_s = 0.2;                  // how long to stay after the last client
  bool foreground = false;                // keep standard streams
};

inline constexpr const char* kServerUsage =
    "usage: simgpu-server --socket PATH [--device KEY] [--devices N] [--time-scale X]\n"
    "                     [--exec full|sample|none] [--timeline FILE] [--threads N] "
    "[--block-budget N]\n"
    "                     [--linger-s SECONDS] [--foreground] [--cost-file CSV]\n";

// `arguments` without the program name. The error is one line.
Result<ServerOptions> parse_options(std::span<char* const> arguments);

}  // namespace gacer::simdevice
