// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/simdevice/driver/proc_address.h"

namespace gacer::simdriver {
namespace {

const ProcRow* newest(std::span<const ProcRow> rows, int version, bool per_thread) {
  const ProcRow* best = nullptr;
  for (const ProcRow& row : rows)
    if (row.per_thread == per_thread && row.version <= version &&
        (best == nullptr || row.version > best->version))
      best = &row;
  return best;
}

}  // namespace

ProcResult find_proc(std::span<const ProcRow> rows, std::string_view name, int version,
                     bool per_thread) {
  const auto range =
      std::equal_range(rows.begin(), rows.end(), ProcRow{name, 0, false, nullptr, nullptr},
                       [](const ProcRow& a, const ProcRow& b) { return a.name < b.name; });
  const std::span<const ProcRow> forms(range.first, range.second);
  if (forms.empty()) return {};
  const ProcRow* found = per_thread ? newest(forms, version, true) : nullptr;
  if (found == nullptr) found = newest(forms, version, false);
  if (found == nullptr) return {ProcStatus::kVersionTooOld, nullptr};
  return {ProcStatus::kFound, found};
}

}  // namespace gacer::simdriver
