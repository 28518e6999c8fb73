// SPDX-License-Identifier: Apache-2.0
// Line log of the simulated driver; level from SIMGPU_LOG (error|warn|info|debug), default warn.
#pragma once

#include "runtime/base/log.h"

namespace gacer::simdriver {

// Reads SIMGPU_LOG; called once by cuInit. Before that GACER_LOG rules.
void read_log_level();

#define sim_log(level, ...) ::gacer::log_line(level, "simgpu", __VA_ARGS__)

}  // namespace gacer::simdriver
