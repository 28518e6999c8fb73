// SPDX-License-Identifier: Apache-2.0
// `gacer status --coverage`: calls that reached the driver unregulated, as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gacer::tools {

// `status` is the daemon's document. One row for each tenant, function and stream kind, then what
// tenants that have ended had; one line when there was nothing.
std::string coverage_table(const nlohmann::json& status);

}  // namespace gacer::tools
