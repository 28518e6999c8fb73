// SPDX-License-Identifier: Apache-2.0
// Whether what a tenant is entitled or limited to is in force now, and if not, why.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/daemon/coverage_totals.h"
#include "runtime/daemon/memory_ledger.h"
#include "runtime/regulator/regulator.h"

namespace gacer::daemon {

// {compute{enforced why} memory{enforced why}}; `why` is empty where enforced.
nlohmann::json enforcement_json(const regulator::Snapshot& state,
                                const regulator::TenantSnapshot& tenant, const MemoryAnswer& memory,
                                const CoverageTotals& coverage);

}  // namespace gacer::daemon
