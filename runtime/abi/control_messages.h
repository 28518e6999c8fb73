// SPDX-License-Identifier: Apache-2.0
// Messages on the control socket (SOCK_SEQPACKET, one message a packet). See PROTOCOL.md.
// The receiver checks magic, version, type and exact size before it reads anything else; text
// fields are NUL-terminated inside their array or refused.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/abi/version.h"

namespace gacer::abi {

enum class MessageType : uint16_t {
  kHello = 1,       // tenant -> daemon
  kWelcome = 2,     // daemon -> tenant, with fds: segment, board
  kRefused = 3,     // daemon -> peer; the daemon closes afterwards
  kMemReserve = 4,  // tenant -> daemon, answered by kMemReply
  kMemReply = 5,
  kMemRelease = 6,  // tenant -> daemon, no answer
  kAdmin = 7,       // tool -> daemon: AdminMessage with text
  kAdminReply = 8,  // daemon -> tool: AdminMessage with text
  kMemQuery = 9,    // anyone -> daemon, also without a Hello; answered by kMemReply
};

enum class TenantClass : uint32_t { kLatency = 0, kBatch = 1 };

struct MessageHeader {
  uint32_t magic;    // kMessageMagic
  uint32_t version;  // kAbiVersion
  uint16_t type;     // MessageType
  uint16_t reserved;
  uint32_t bytes;  // of the whole message, this header included
};

struct HelloMessage {
  MessageHeader header;
  uint64_t start_time_ticks;  // field 22 of /proc/self/stat: identity against pid reuse
  uint64_t
      memory_limit_bytes;  // asked for, of each device; 0: none. The tenant's first process decides
  uint32_t tenant_class;   // TenantClass
  uint32_t weight;         // 1..1000
  int32_t priority;        // inside the class; greater goes first
  uint32_t sm_count;       // of the device, from the driver
  uint32_t threads_per_sm;
  uint32_t regs_per_sm;
  uint32_t smem_per_sm_bytes;
  uint32_t blocks_per_sm;
  uint64_t device_memory_bytes;
  uint64_t memory_in_use_bytes;  // of device_uuid, already allocated by this process (re-attach)
  uint8_t device_uuid[16];
  char tenant[64];  // processes with the same name and uid are one tenant
  char executable[128];
};

struct WelcomeMessage {
  MessageHeader header;
  uint64_t tenant_id;
  uint64_t process_id;
  uint64_t segment_bytes;
  uint64_t board_bytes;
};

struct RefusedMessage {
  MessageHeader header;
  uint32_t daemon_version;
  uint32_t code;   // errno
  char text[240];  // one line: what, why, what to do
};

using DeviceUuid = std::array<uint8_t, 16>;  // CUuuid; NVML's "GPU-..." text without the prefix

enum class MemoryKind : uint32_t {
  kAllocation = 0,  // refused when it does not fit
  kHeld = 1,  // is there already (re-attach, a limit that came later): counted even above the limit
  kOverhead =
      2,  // estimate for contexts and modules: always shown; counted while all counted overhead
          // stays below the limit, since above it the tenant could allocate nothing at all
};

struct MemoryMessage {  // kMemReserve, kMemReply, kMemRelease
  MessageHeader header;
  uint64_t bytes;
  uint32_t granted;  // kMemReply only: 1 or 0. To a query: 1 if the tenant is known
  uint32_t kind;     // MemoryKind; a release knows kAllocation (for kHeld too) and kOverhead
  DeviceUuid device_uuid;
  // kMemReply only, of the tenant on that device, after this request.
  uint64_t tenant_used_bytes;      // what counts against the limit
  uint64_t tenant_limit_bytes;     // 0: none
  uint64_t tenant_overhead_bytes;  // estimated, whether it counts or not
};

struct MemoryQueryMessage {  // kMemQuery: for processes that have no attachment, such as NVML
                             // clients
  MessageHeader header;
  DeviceUuid device_uuid;
  char tenant[64];
};

// Text follows the header. Requests: PROTOCOL.md, "Admin requests".
// Replies: first line "ok" or "error MESSAGE"; "status" puts a JSON document after the first line.
inline constexpr uint32_t kMaxAdminBytes = 128 * 1024;

}  // namespace gacer::abi
