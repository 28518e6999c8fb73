// SPDX-License-Identifier: Apache-2.0
// What is known of one GPU: plain numbers from datasheets and occupancy tables, no behaviour.
#pragma once

#include <cstdint>
#include <string>

namespace gacer {

struct DeviceSpec {
  std::string name;  // "NVIDIA A100-SXM4-40GB"
  std::string key;   // "A100", the value of SIMGPU_DEVICE
  int compute_major = 0;
  int compute_minor = 0;
  uint32_t sm_count = 0;
  uint32_t clock_mhz = 0;  // boost clock used for throughput
  uint32_t threads_per_sm = 0;
  uint32_t blocks_per_sm = 0;
  uint32_t regs_per_sm = 0;
  uint32_t smem_per_sm_bytes = 0;
  uint32_t smem_per_block_optin_bytes = 0;
  uint32_t smem_reserved_per_block_bytes = 0;
  uint32_t smem_alloc_granularity_bytes = 0;
  uint32_t reg_alloc_unit_per_warp = 0;
  uint64_t memory_bytes = 0;
  uint64_t l2_bytes = 0;
  double dram_bytes_per_ns = 0;  // GB/s == bytes/ns
  double pcie_bytes_per_ns = 0;  // one direction
  uint32_t copy_engines = 0;
};

}  // namespace gacer
