// SPDX-License-Identifier: Apache-2.0
// What the environment says about this tenant.
//
//   GACER_SOCKET    control socket of gacerd        default: $XDG_RUNTIME_DIR/gacer.sock (not for
//   root),
//                                                   else /run/gacer/gacer.sock
//   GACER_TENANT    name                            default: executable and pid, in a pid namespace
//                                                   of its own with that namespace's number
//   GACER_CLASS     latency | batch                 default: batch
//   GACER_MEM       device memory limit, bytes, with K, M, G, T (powers of 1024)   default: none
//   GACER_WEIGHT    1..1000                         default: 1
//   GACER_PRIORITY  -1000..1000                     default: 0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "runtime/abi/control_messages.h"

namespace gacer::interpose {

struct TenantConfig {
  char socket_path[108] = {};     // sun_path
  bool socket_was_named = false;  // by GACER_SOCKET: its absence is worth a line
  char tenant[64] = {};
  abi::TenantClass tenant_class = abi::TenantClass::kBatch;
  uint64_t memory_limit_bytes = 0;  // 0: none
  uint32_t weight = 1;
  int32_t priority = 0;
};

// What the process brings besides its environment.
struct ProcessFacts {
  const char* executable = "";  // path or name
  pid_t pid = 0;
  uid_t uid = 0;
  uint64_t pid_namespace = 0;  // inode of /proc/self/ns/pid; 0: not known
};

using EnvironmentReader = const char* (*)(const char* name);  // like getenv

// Unusable values leave the default in place and are named in `warning` (one line, cut to size;
// empty: none).
TenantConfig read_tenant_config(EnvironmentReader environment, const ProcessFacts& process,
                                char* warning, size_t warning_bytes);

// "512M" -> bytes. False: not a number, zero, negative, overflow, or trailing text.
bool parse_bytes(const char* text, uint64_t& bytes);

}  // namespace gacer::interpose
