// SPDX-License-Identifier: Apache-2.0
// Who answers for the driver: one check for each way to look a function up. Fails where a gated or
// accounted function is answered by somebody else than the shim, or by the wrong variant.
#pragma once

#include <set>

#include "tools/doctor/check.h"
#include "tools/doctor/probe_report.h"

namespace gacer::tools::doctor {

Checks lookup_checks(const ProbeReport& report);

// Driver functions that the shim does not export. Fails for those that launch or allocate by their
// names.
Check missing_exports_check(const std::vector<std::string>& driver_functions,
                            const std::vector<std::string>& shim_functions);

}  // namespace gacer::tools::doctor
