// SPDX-License-Identifier: Apache-2.0
// Coverage counts as the status document has them: rows that are not zero.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/daemon/coverage_totals.h"

namespace gacer::daemon {

// {functions[]{name kind stream calls before_attach} unknown[]{name calls handed_out}
//  unknown_beyond}
nlohmann::json coverage_json(const CoverageTotals& totals);

}  // namespace gacer::daemon
