// SPDX-License-Identifier: Apache-2.0
// The devices that can be simulated: one table, device_models.def, for the driver facade and the
// server.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "runtime/model/device_spec.h"
#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {

// Issue rates of one SM in warp instructions a clock.
struct PipeRates {
  double issue = 4.0;  // four schedulers of one instruction each on every architecture listed
  double fp32 = 0;
  double int32 = 0;
  double sfu = 0;
  double fp64 = 0;
  double tensor = 0;  // mma.m16n8k16
  double load_store = 0;
};

struct MemorySystem {
  uint64_t l1_bytes = 0;          // of one SM, shared memory included
  double l2_bytes_per_clock = 0;  // all of L2 to all SMs; writes at half the rate
  double dram_efficiency = 0;     // reachable share of the peak bandwidth
  double l1_latency_clocks = 0;
  double l2_latency_clocks = 0;
  double dram_latency_clocks = 0;
  double sm_read_bytes_per_clock = 64;  // between one SM and L2 (Volta, Ampere, Hopper whitepapers)
  double sm_write_bytes_per_clock = 32;
};

struct DeviceModel {
  DeviceSpec spec;
  PipeRates pipes;
  MemorySystem memory;
  // Clocks until a result can be used. kGlobal stands for an L2 hit here.
  std::array<double, kLatencyCount> latency_clocks{};
};

inline constexpr std::string_view kDefaultDeviceKey = "A100";

// In the order of device_models.def.
std::span<const DeviceModel> device_models();

// `key` in any letter case; "" means kDefaultDeviceKey. nullptr when unknown. The pointer stays
// valid.
const DeviceModel* find_device_model(std::string_view key);

// "V100, TITANV, ..." for error messages.
std::string device_model_keys();

}  // namespace gacer::simdevice
