// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/device_models.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace gacer::simdevice {
namespace {

const auto& table() {
  static const std::array models = {
#define GACER_SIM_DEVICE(key, name, major, minor, sms, mhz, threads, blocks, regs, smem_sm,      \
                         smem_optin, smem_reserved, smem_unit, reg_unit, memory, l2, dram, pcie, \
                         engines, fp32, int32, sfu, fp64, tensor, ldst, l1_kib, l2_bytes,        \
                         dram_eff, fp64_clk, sfu_clk, tensor_clk, shared_clk, l1_clk, l2_clk,    \
                         dram_clk)                                                               \
  DeviceModel{                                                                                   \
      DeviceSpec{name, #key, major, minor, sms, mhz, threads, blocks, regs, smem_sm, smem_optin, \
                 smem_reserved, smem_unit, reg_unit, memory, l2, dram, pcie, engines},           \
      PipeRates{4.0, fp32, int32, sfu, fp64, tensor, ldst},                                      \
      MemorySystem{uint64_t{l1_kib} << 10, l2_bytes, dram_eff, l1_clk, l2_clk, dram_clk},        \
      {0, 4, fp64_clk, sfu_clk, shared_clk, l2_clk, l2_clk, tensor_clk}},
#include "runtime/simdevice/device_models.def"
#undef GACER_SIM_DEVICE
  };
  return models;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::toupper(x) == std::toupper(y);
  });
}

}  // namespace

std::span<const DeviceModel> device_models() {
  return table();
}

const DeviceModel* find_device_model(std::string_view key) {
  if (key.empty()) key = kDefaultDeviceKey;
  const auto& models = table();
  const auto found = std::find_if(models.begin(), models.end(), [key](const DeviceModel& model) {
    return equal_ignoring_case(model.spec.key, key);
  });
  return found == models.end() ? nullptr : &*found;
}

std::string device_model_keys() {
  std::string keys;
  for (const DeviceModel& model : table()) keys += (keys.empty() ? "" : ", ") + model.spec.key;
  return keys;
}

}  // namespace gacer::simdevice
