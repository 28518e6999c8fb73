// SPDX-License-Identifier: Apache-2.0
// Runs a helper program to its end and keeps what it wrote.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::tools::doctor {

// Variables to set, or to remove where the value is empty.
using Variables = std::map<std::string, std::string>;

struct ChildResult {
  int status = 0;  // as of waitpid(2)
  bool timed_out = false;
  std::string output;  // of descriptor kReportFd
  std::string errors;  // of standard error, its first 4 KiB
};
inline constexpr int kReportFd = 3;

// Standard input and output are /dev/null, or standard output goes to the report where
// `report_stdout`. A program that takes longer than `limit_ms` is killed.
Result<ChildResult> run_child(const std::vector<std::string>& words, const Variables& variables,
                              bool report_stdout, int limit_ms);

}  // namespace gacer::tools::doctor
