// SPDX-License-Identifier: Apache-2.0
// The devices that can be simulated: one table, device_models.def, for the driver facade and the
// server.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/model/device_spec.h"

namespace gacer::simdevice {

// Issue rates of one SM in warp instructions a clock, and latencies in clocks.
struct PipeRates {
  double issue = 4.0;  // four schedulers of one instruction each on every architecture listed
  double fp32 = 0;
  double int32 = 0;
  double sfu = 0;
  double fp64 = 0;
  double tensor = 0;  // mma.m16n8k16
  double load_store = 0;
  double l2_bytes_per_clock = 64;  // between one SM and L2 (Volta, Ampere and Hopper whitepapers)
  double l2_latency_clocks = 0;
  double dram_latency_clocks = 0;
};

struct DeviceModel {
  DeviceSpec spec;
  PipeRates pipes;
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
