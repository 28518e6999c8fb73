// SPDX-License-Identifier: Apache-2.0
// A sealed memfd and its mapping.
//
//   creator: memfd_create -> size -> map -> seal (shrink, grow, further seals) -> pass fd()
//   opener:  fd from a socket -> regular memfd? size as announced? seals there? -> map
//
// The seals are what makes a mapping safe: without them the other side could truncate the file and
// the next access would be SIGBUS. Nothing here throws. Not thread-safe; the mapped bytes follow
// their own contract. Source: memfd_create(2), fcntl(2) F_ADD_SEALS.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace gacer::shm {

enum class Access { kReadWrite, kReadOnly };

class MemorySegment {
 public:
  MemorySegment() = default;

  // Zeroed memory that both sides may write. `name` shows in /proc/PID/maps. Error code: errno.
  static Result<MemorySegment> create(const char* name, uint64_t bytes);

  // Zeroed memory that only this mapping may write (F_SEAL_FUTURE_WRITE): whoever receives the fd
  // can map it for reading only. Error code: errno.
  static Result<MemorySegment> create_published(const char* name, uint64_t bytes);

  // Takes a received fd. EINVAL: not a sealable memory file, of another size, or not sealed.
  static Result<MemorySegment> open(UniqueFd fd, uint64_t bytes, Access access);

  bool valid() const { return region_.get_address() != nullptr; }
  void* data() const { return region_.get_address(); }
  uint64_t bytes() const { return region_.get_size(); }
  int fd() const { return fd_.get(); }
  // The mapping stays; a tenant needs no open descriptor after it has mapped.
  void close_fd() { fd_.reset(); }

 private:
  static Result<MemorySegment> create_sealed(const char* name, uint64_t bytes, int extra_seals);
  Status map(uint64_t bytes, Access access);

  UniqueFd fd_;
  boost::interprocess::mapped_region region_;
};

}  // namespace gacer::shm
