// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/unmanaged_list.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>

namespace gacer::daemon {
namespace {

constexpr size_t kMaxText = 128;

}  // namespace

void UnmanagedList::remove_ended() {
  std::erase_if(entries_, [](const UnmanagedProcess& process) {
    return kill(process.pid, 0) != 0 && errno == ESRCH;
  });
}

void UnmanagedList::add(UnmanagedProcess process) {
  remove_ended();
  const bool known = std::any_of(entries_.begin(), entries_.end(),
                                 [&](const auto& entry) { return entry.pid == process.pid; });
  if (!known && entries_.size() < kMaxEntries) entries_.push_back(std::move(process));
}

const std::vector<UnmanagedProcess>& UnmanagedList::entries() {
  remove_ended();
  return entries_;
}

Result<UnmanagedProcess> parse_unmanaged(std::string_view text) {
  const Error wrong{EINVAL, "unmanaged needs PID EXECUTABLE TENANT"};
  UnmanagedProcess process;
  const size_t first = text.find(' ');
  const size_t second = first == text.npos ? text.npos : text.find(' ', first + 1);
  if (second == text.npos || second + 1 >= text.size()) return wrong;
  const auto parsed = std::from_chars(text.data(), text.data() + first, process.pid);
  if (parsed.ptr != text.data() + first || process.pid <= 0) return wrong;
  process.executable = text.substr(first + 1, std::min(second - first - 1, kMaxText));
  process.tenant = text.substr(second + 1, kMaxText);
  return process;
}

}  // namespace gacer::daemon
