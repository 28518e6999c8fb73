// SPDX-License-Identifier: Apache-2.0
// The tenant's end: attach to a daemon, ask for memory. Blocks at most for the given time-outs;
// never throws.
//
//   connect -> Hello ->            <- Welcome + fds (segment, board)     -> Attachment
//                                  <- Refused (one line, errno)          -> Error with that line
//
// The Attachment's socket must stay open: its end is how the daemon learns that the process is
// gone. Requests on one socket must not overlap (one lock around them). After an error other than
// "not granted" the socket is out of step: close it, pass launches through, attach again later. See
// runtime/abi/PROTOCOL.md.
#pragma once

#include <string>

#include "runtime/abi/control_messages.h"
#include "runtime/abi/segment_layout.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/shm/memory_segment.h"

namespace gacer::shm {

struct Attachment {
  UniqueFd socket;
  MemorySegment segment_memory;
  MemorySegment board_memory;
  uint64_t tenant_id = 0;
  uint64_t process_id = 0;

  // Precondition: from a successful attach(). Valid as long as this object lives.
  abi::Segment& segment() const { return *static_cast<abi::Segment*>(segment_memory.data()); }
  const abi::Board& board() const { return *static_cast<const abi::Board*>(board_memory.data()); }
};

// A hello of this process: header, start time and executable are filled in; the rest is zero but
// for weight 1.
abi::HelloMessage make_hello();

// Error code: errno of the connection (ENOENT, ECONNREFUSED: no daemon), or the daemon's code when
// refused.
Result<Attachment> attach(const std::string& socket_path, const abi::HelloMessage& hello,
                          uint32_t timeout_ms);

struct MemoryGrant {
  bool granted = false;
  // Of the tenant on that device.
  uint64_t tenant_used_bytes = 0;
  uint64_t tenant_limit_bytes = 0;     // 0: none
  uint64_t tenant_overhead_bytes = 0;  // contexts and modules, estimated
};

// Asks before an allocation. Waits for the answer as long as the socket's time-out.
Result<MemoryGrant> reserve_memory(int socket, uint64_t bytes, const abi::DeviceUuid& device = {},
                                   abi::MemoryKind kind = abi::MemoryKind::kAllocation);
// After a free, or to undo a reservation. No answer is awaited.
Status release_memory(int socket, uint64_t bytes, const abi::DeviceUuid& device = {},
                      abi::MemoryKind kind = abi::MemoryKind::kAllocation);

// Limit and use of a tenant on one device, for a process that is not attached: one connection of
// its own, at most kQueryTimeoutMs. Tenants are the caller's uid's. Errors: as attach(); ENOENT
// also when gacerd knows no such tenant (none of its processes is attached).
inline constexpr uint32_t kQueryTimeoutMs = 1000;
Result<MemoryGrant> query_memory(const std::string& socket_path, const std::string& tenant,
                                 const abi::DeviceUuid& device);

}  // namespace gacer::shm
