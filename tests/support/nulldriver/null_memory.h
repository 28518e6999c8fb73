// SPDX-License-Identifier: Apache-2.0
// The null driver's device memory, counted over all processes in one file, so that a test sees the
// true sum and not what the shim or the daemon believe. NULLCUDA_MEMORY=FILE; without it,
// allocations are only numbers.
//
// A process's bytes are gone when it is: it holds a lock on its slot, which the kernel gives up
// while it closes the dead process's files. The highest sum there ever was stays in the file.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace gacer::test {

struct NullMemoryFile {
  static constexpr uint32_t kSlots = 1024;
  pthread_mutex_t lock;  // robust, between processes; valid once `ready` is set
  uint32_t ready;
  uint32_t reserved;
  uint64_t highest_bytes;
  uint64_t sum_bytes;  // of all slots, those of dead processes included until they are seen
  uint64_t allocations;
  struct Slot {
    uint64_t taken;
    uint64_t bytes;
  } slots[kSlots];
};

// Counts `bytes` for this process under the address; false: nothing is counted in this process.
bool null_memory_allocated(uint64_t address, uint64_t bytes);
// False: unknown address.
bool null_memory_freed(uint64_t address);

}  // namespace gacer::test
