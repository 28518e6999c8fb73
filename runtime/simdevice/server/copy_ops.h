// SPDX-License-Identifier: Apache-2.0
// The effect of copies, memsets and value operations on a client's memory, at the time they run.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/simdevice/server/client_memory.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {

// Payload bytes of a copy; nullopt when the geometry overflows or rows overlap their pitch.
std::optional<uint64_t> copy_bytes(const CopyOp& op);
std::optional<uint64_t> memset_bytes(const MemsetOp& op);

// Empty on success, else what could not be accessed: one line.
std::string run_copy(const CopyOp& op, const ClientMemory& memory);
std::string run_memset(const MemsetOp& op, const ClientMemory& memory);
std::string run_write_value(const ValueOp& op, const ClientMemory& memory);

enum class WaitState { kMet, kNotYet, kBadAddress };
WaitState test_wait_value(const ValueOp& op, const ClientMemory& memory);

}  // namespace gacer::simdevice
