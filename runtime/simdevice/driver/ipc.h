// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gacer::simdriver {

// Forgets what a context had opened of other processes; the memory goes with the context.
void forget_ipc_of(uint32_t context_id);

}  // namespace gacer::simdriver
