// SPDX-License-Identifier: Apache-2.0
// The way to gacerd: path and permissions, who serves it, its version.
#pragma once

#include "tools/doctor/check.h"

namespace gacer::tools::doctor {

// As this process's user. A missing daemon is a warning: `gacer run` starts one.
Checks daemon_checks(const std::string& socket_path);

}  // namespace gacer::tools::doctor
