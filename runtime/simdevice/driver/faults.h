// SPDX-License-Identifier: Apache-2.0
// Failures on request of the environment.
#pragma once

namespace gacer::simdriver {

// True for the allocation of device memory that SIMGPU_OOM_AT names (1: the first of the process).
// Counts every allocation that is about to be asked for; thread-safe.
bool allocation_must_fail();

}  // namespace gacer::simdriver
