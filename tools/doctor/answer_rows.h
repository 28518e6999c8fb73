// SPDX-License-Identifier: Apache-2.0
// Every answer that the probe got, for `gacer doctor --answers`.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/probe_report.h"

namespace gacer::tools::doctor {

struct AnswerRow {
  std::string way;      // link, handle, default, next, versioned, proc-v1, proc-v2
  std::string name;     // as asked for
  std::string cuda;     // version asked for, "12.4"; empty: the way has none
  std::string stream;   // legacy, per-thread; empty: the way has none
  std::string object;   // who answered; empty: nobody
  std::string variant;  // driver symbol that was answered; empty: unknown
};

std::vector<AnswerRow> answer_rows(const ProbeReport& report);

}  // namespace gacer::tools::doctor
