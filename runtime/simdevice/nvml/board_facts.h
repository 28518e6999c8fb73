// SPDX-License-Identifier: Apache-2.0
// What NVML tells of a board and the timing model does not need.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/simdevice/nvml/nvml_api.h"

namespace gacer::simnvml {

struct BoardFacts {
  std::string_view key;  // as in device_models.def
  nvmlBrandType_t brand;
  nvmlDeviceArchitecture_t architecture;
  uint32_t pci_device_id;  // device << 16 | vendor; 0: not on PCI
  uint32_t pcie_generation;
  uint32_t pcie_width;
  uint32_t memory_bus_bits;
  uint32_t memory_mhz;
  uint64_t bar1_mib;  // 0: none
  bool mig_capable;
};

// Never null for a key of device_models.def.
const BoardFacts* find_board(std::string_view key);

}  // namespace gacer::simnvml
