// SPDX-License-Identifier: Apache-2.0
// Durations of kernels that cannot be executed, or whose real times are known: a table by name.
//
//   kernel,grid,block,duration_us,sms,dram_fraction,issue_fraction,registers,smem_bytes
//   my_kernel,128,256,35.5,,0.8,0.2,40,0
//   /gemm.*/,,,120,80,0.2,0.8,,
//
// The header names the columns, in any order; kernel and duration_us must be there, empty fields
// are not given. kernel: the exact name, or a regular expression between slashes for the whole
// name. grid, block: blocks (threads) in all; a row with them fits only such launches. sms: SMs
// the kernel fills, in place of what grid, block, registers and shared memory say. '#' starts a
// comment. The first row that fits counts.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/simdevice/engine/traced_cost.h"

namespace gacer::simdevice {

class CostFile {
 public:
  static Result<CostFile> read(const std::string& path);
  // `name` is for error messages, which say "NAME:LINE: ...".
  static Result<CostFile> parse(std::string_view text, const std::string& name);

  // The cost of a launch of `shape`, if a row fits. A row with `sms` gives `blocks` a new meaning:
  // the engine has to run that many.
  struct Found {
    KernelCost cost;
    uint64_t blocks = 1;
  };
  std::optional<Found> find(const DeviceModel& device, std::string_view kernel,
                            const KernelShape& shape) const;
  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    std::string name;
    std::optional<std::regex> pattern;
    std::optional<uint64_t> grid, block, sms, registers, smem_bytes;
    double duration_us = 0, dram_fraction = 0, issue_fraction = 0;
    bool fits(std::string_view kernel, const KernelShape& shape) const;
  };
  Status add_row(const std::vector<std::string>& columns, const std::vector<std::string>& fields);
  static Status set_field(Row& row, const std::string& column, const std::string& value);

  std::vector<Row> rows_;
};

}  // namespace gacer::simdevice
