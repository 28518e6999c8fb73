// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/answer_rows.h"

#include "tools/doctor/driver_checks.h"

namespace gacer::tools::doctor {

std::vector<AnswerRow> answer_rows(const ProbeReport& report) {
  std::vector<AnswerRow> rows;
  rows.reserve(report.symbols.size() + report.procs.size());
  for (const SymbolAnswer& answer : report.symbols)
    rows.push_back({answer.way, answer.symbol, "", "", answer.owner.object, answer.owner.name});
  for (const ProcAnswer& answer : report.procs)
    rows.push_back({answer.api == 1 ? "proc-v1" : "proc-v2", answer.base,
                    cuda_version_text(answer.version), answer.per_thread ? "per-thread" : "legacy",
                    answer.owner.object, answer.owner.name});
  return rows;
}

}  // namespace gacer::tools::doctor
