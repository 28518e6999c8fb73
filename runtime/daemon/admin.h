// SPDX-License-Identifier: Apache-2.0
// Requests of tools: one line of text in, "ok ..." or "error ..." out. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "runtime/daemon/status_json.h"
#include "runtime/daemon/tenant_table.h"

namespace gacer::daemon {

struct AdminAnswer {
  std::string text;
  bool shutdown = false;
};

// "status", "policy NAME", "tune KEY=VALUE", "limit TENANT=BYTES", "shutdown"; anything else is an
// error that lists these.
AdminAnswer answer_admin(std::string_view request, TenantTable& table, const DaemonFacts& facts);

}  // namespace gacer::daemon
