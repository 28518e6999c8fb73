// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runtime/simdevice/driver/device.h"

namespace gacer::simdriver {
namespace {

// Bus width is no part of DeviceSpec: what follows from a bandwidth and the usual width of the
// memory type. The memory clock makes both give the bandwidth again.
int bus_width_bits(const DeviceSpec& spec) {
  return spec.dram_bytes_per_ns > 600 ? 5120 : 256;
}
int memory_clock_khz(const DeviceSpec& spec) {
  return static_cast<int>(std::lround(spec.dram_bytes_per_ns * 8e6 / bus_width_bits(spec) / 2));
}

struct AttributeRow {
  int id;
  int (*value)(const DeviceSpec& spec, uint32_t index);
};

constexpr AttributeRow kAttributes[] = {
#define ROW(name, expression)                                                     \
  {CU_DEVICE_ATTRIBUTE_##name,                                                    \
   []([[maybe_unused]] const DeviceSpec& spec, [[maybe_unused]] uint32_t index) { \
     return static_cast<int>(expression);                                         \
   }},
#include "runtime/simdevice/driver/device_attributes.def"
#undef ROW
};

}  // namespace

bool device_attribute(const DeviceSpec& spec, uint32_t index, bool mps, int attribute, int& value) {
  if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return false;
  // What has no row names a feature that the simulated device does not have (RDMA, multicast, ...).
  value = attribute == CU_DEVICE_ATTRIBUTE_MPS_ENABLED && mps ? 1 : 0;
  for (const AttributeRow& row : kAttributes)
    if (row.id == attribute) value = row.value(spec, index);
  return true;
}

}  // namespace gacer::simdriver
