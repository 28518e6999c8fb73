// SPDX-License-Identifier: Apache-2.0
// Contexts, streams, modules and synchronisations, as seen in the driver calls that make, end or do
// them: callbacks of the domains RESOURCE and SYNCHRONIZE, and the records of these kinds.
#pragma once

#include "runtime/simdevice/cupti/driver_link.h"

namespace gacer::simcupti {

void resources_before(const simdevice::ToolsCall& call);
void resources_after(const simdevice::ToolsCall& call);

}  // namespace gacer::simcupti
