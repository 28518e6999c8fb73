// SPDX-License-Identifier: Apache-2.0
// Records of memory allocated and released (CUPTI_ACTIVITY_KIND_MEMORY2), from the driver calls
// that do so.
#pragma once

#include "runtime/simdevice/tools_hooks.h"

namespace gacer::simcupti {

// After a driver call that has succeeded. Thread-safe.
void record_memory(const simdevice::ToolsCall& call);

}  // namespace gacer::simcupti
