// SPDX-License-Identifier: Apache-2.0
// What this process tells the server about itself: name, wanted device, MPS settings.
#pragma once

#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdriver {

void fill_identity(simdevice::HelloMsg& hello);

}  // namespace gacer::simdriver
