// SPDX-License-Identifier: Apache-2.0
// What the driver and the runtime report goes through here: to the subscriber's callbacks and to
// the activity records.
#pragma once

#include "runtime/simdevice/cupti/driver_link.h"

namespace gacer::simcupti {

// Sets or clears the driver's handlers as callbacks and activity kinds require. Thread-safe.
void update_hooks();

// Whether this thread is inside a reported call of the runtime.
bool in_runtime_call();

}  // namespace gacer::simcupti
