// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/nvml/board_facts.h"

#include <algorithm>
#include <iterator>

namespace gacer::simnvml {
namespace {

// PCI ids: pci.ids. Bus widths and links: NVIDIA datasheets. Memory clocks and BAR1 sizes: what
// nvidia-smi prints on such boards (data-centre boards map all of their memory, rounded up to a
// power of two). MIG: MIG User Guide, "Supported GPUs".
constexpr BoardFacts kBoards[] = {
    {"V100", NVML_BRAND_TESLA, NVML_DEVICE_ARCH_VOLTA, 0x1DB110DE, 3, 16, 4096, 877, 16384, false},
    {"TITANV", NVML_BRAND_TITAN, NVML_DEVICE_ARCH_VOLTA, 0x1D8110DE, 3, 16, 3072, 850, 256, false},
    {"A100", NVML_BRAND_NVIDIA, NVML_DEVICE_ARCH_AMPERE, 0x20B010DE, 4, 16, 5120, 1215, 65536,
     true},
    {"H100", NVML_BRAND_NVIDIA, NVML_DEVICE_ARCH_HOPPER, 0x233010DE, 5, 16, 5120, 2619, 131072,
     true},
    {"H200", NVML_BRAND_NVIDIA, NVML_DEVICE_ARCH_HOPPER, 0x233510DE, 5, 16, 6144, 3201, 262144,
     true},
    {"L4", NVML_BRAND_NVIDIA, NVML_DEVICE_ARCH_ADA, 0x27B810DE, 4, 16, 192, 6251, 32768, false},
    {"Orin", NVML_BRAND_NVIDIA, NVML_DEVICE_ARCH_AMPERE, 0, 0, 0, 256, 3199, 0, false},
};

}  // namespace

const BoardFacts* find_board(std::string_view key) {
  const auto* found = std::find_if(std::begin(kBoards), std::end(kBoards),
                                   [&](const BoardFacts& board) { return board.key == key; });
  return found == std::end(kBoards) ? nullptr : found;
}

}  // namespace gacer::simnvml
