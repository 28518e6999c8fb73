// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/coverage_json.h"

#include <nlohmann/json.hpp>

namespace gacer::daemon {
namespace {

using nlohmann::json;

json functions_json(const CoverageTotals& totals) {
  json rows = json::array();
  for (size_t f = 0; f < totals.attached.size(); ++f)
    for (size_t s = 0; s < totals.attached[f].size(); ++s)
      if (totals.attached[f][s] != 0 || totals.before_attach[f][s] != 0)
        rows.push_back({{"name", kCoveredNames[f]},
                        {"kind", kCoveredKinds[f]},
                        {"stream", kCoverageStreamTexts[s]},
                        {"calls", totals.attached[f][s]},
                        {"before_attach", totals.before_attach[f][s]}});
  return rows;
}

json unknown_json(const CoverageTotals& totals) {
  json rows = json::array();
  for (const auto& [name, counts] : totals.unknown)
    rows.push_back({{"name", name}, {"calls", counts.calls}, {"handed_out", counts.handed_out}});
  return rows;
}

}  // namespace

json coverage_json(const CoverageTotals& totals) {
  return {{"functions", functions_json(totals)},
          {"unknown", unknown_json(totals)},
          {"unknown_beyond", totals.unknown_beyond}};
}

}  // namespace gacer::daemon
