// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/admin.h"

#include <unistd.h>

#include <charconv>

#include "runtime/abi/control_messages.h"

namespace gacer::daemon {
namespace {

constexpr size_t kMaxStatusBytes = abi::kMaxAdminBytes - sizeof(abi::MessageHeader) - 16;

AdminAnswer answer_of(const Status& status) {
  if (status) return {"ok"};
  return {"error " + status.error().message};
}

AdminAnswer status(std::string_view, TenantTable& table, const DaemonFacts& facts) {
  table.read_coverage();
  const auto document = status_json(table, facts, kMaxStatusBytes);
  if (!document) return {"error " + document.error().message};
  return {"ok\n" + *document};
}

AdminAnswer policy(std::string_view name, TenantTable& table, const DaemonFacts&) {
  return answer_of(table.set_policy(name));
}

AdminAnswer tune(std::string_view assignment, TenantTable& table, const DaemonFacts&) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return {"error tune needs KEY=VALUE"};
  return answer_of(table.tune(assignment.substr(0, equals), assignment.substr(equals + 1)));
}

AdminAnswer version(std::string_view, TenantTable&, const DaemonFacts&) {
  return {"ok\n" + std::to_string(abi::kAbiVersion)};
}

AdminAnswer unmanaged(std::string_view text, TenantTable& table, const DaemonFacts&) {
  auto process = parse_unmanaged(text);
  if (!process) return {"error " + process.error().message};
  table.unmanaged().add(std::move(process).value());
  return {"ok"};
}

// BYTES after the last '=': a tenant's name may hold one.
AdminAnswer limit(std::string_view assignment, TenantTable& table, const DaemonFacts&) {
  const size_t equals = assignment.rfind('=');
  uint64_t bytes = 0;
  const char* const end = assignment.data() + assignment.size();
  const char* const digits = equals == std::string_view::npos ? end : &assignment[equals] + 1;
  const auto parsed = std::from_chars(digits, end, bytes);
  if (digits == end || parsed.ec != std::errc{} || parsed.ptr != end)
    return {"error limit needs TENANT=BYTES (0: none)"};
  return answer_of(table.set_memory_limit(assignment.substr(0, equals), geteuid(), bytes));
}

AdminAnswer shutdown(std::string_view, TenantTable&, const DaemonFacts&) {
  return {"ok", true};
}

struct Request {
  std::string_view verb;
  bool has_argument;
  AdminAnswer (*answer)(std::string_view argument, TenantTable&, const DaemonFacts&);
};

constexpr Request kRequests[] = {
    {"status", false, status},     {"policy", true, policy},       {"tune", true, tune},
    {"version", false, version},   {"unmanaged", true, unmanaged}, {"limit", true, limit},
    {"shutdown", false, shutdown},
};

}  // namespace

AdminAnswer answer_admin(std::string_view request, TenantTable& table, const DaemonFacts& facts) {
  const size_t space = request.find(' ');
  const std::string_view verb = request.substr(0, space);
  const bool has_argument = space != std::string_view::npos && space + 1 < request.size();
  for (const Request& row : kRequests)
    if (row.verb == verb && row.has_argument == has_argument)
      return row.answer(has_argument ? request.substr(space + 1) : "", table, facts);
  return {
      "error unknown request; known: status, policy NAME, tune KEY=VALUE, version, unmanaged PID "
      "EXECUTABLE TENANT, limit TENANT=BYTES, shutdown"};
}

}  // namespace gacer::daemon
