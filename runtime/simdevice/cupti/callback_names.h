// SPDX-License-Identifier: Apache-2.0
// Names of callback ids, as CUPTI's headers have them.
#pragma once

#include "runtime/simdevice/cupti/cupti_api.h"

namespace gacer::simcupti {

// "cuMemAlloc_v2", "cudaMalloc_v3020"; nullptr: no such id.
const char* callback_name(CUpti_CallbackDomain domain, uint32_t id);

}  // namespace gacer::simcupti
