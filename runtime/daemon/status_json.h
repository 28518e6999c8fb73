// SPDX-License-Identifier: Apache-2.0
// The answer to "status": one JSON document, fields as listed in runtime/abi/PROTOCOL.md.
#pragma once

#include <string>

#include "runtime/daemon/tenant_table.h"

namespace gacer::daemon {

struct DaemonFacts {
  std::string socket_path;
  uint64_t uptime_ns = 0;
};

// At most `max_bytes`: where that is too little, the lists of processes are left out and
// "truncated" is true; E2BIG if even that does not fit.
Result<std::string> status_json(TenantTable& table, const DaemonFacts& facts, size_t max_bytes);

}  // namespace gacer::daemon
