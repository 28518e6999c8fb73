// SPDX-License-Identifier: Apache-2.0
// Registered host memory (cuMemHostRegister) belongs to pages of the client that the server cannot
// map. For the time of one launch the kernel gets a copy of what its parameters point into; what it
// changed goes back when it has run. Effects happen when a launch starts, all at once, so nothing
// else can tell the difference.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/simdevice/exec/program.h"
#include "runtime/simdevice/server/client_memory.h"

namespace gacer::simdevice {

class ForeignShadow {
 public:
  // `pointers`: words that may be addresses; others are passed over. `space` outlives this.
  // Memory that cannot be read (any more) or is more than 1 GiB in all stays out: a kernel that
  // touches it faults.
  ForeignShadow(std::span<const uint64_t> pointers, const ClientMemory& memory,
                const AddressSpace& space);

  // That of the context and the copies.
  const AddressSpace& space() const { return copies_.empty() ? context_space_ : space_; }
  void write_back(const ClientMemory& memory) const;

 private:
  struct Copy {
    uint64_t address = 0;
    std::vector<uint8_t> before, now;
  };
  void add(const HostRange& range, const ClientMemory& memory);

  const AddressSpace& context_space_;
  AddressSpace space_;
  std::vector<Copy> copies_;
  uint64_t bytes_ = 0;
};

}  // namespace gacer::simdevice
