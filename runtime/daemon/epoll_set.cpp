// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/epoll_set.h"

#include <poll.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "runtime/base/clock.h"

namespace gacer::daemon {
namespace {

constexpr int kEventsPerCall = 64;
constexpr uint64_t kNsPerSecond = 1'000'000'000;

// epoll_wait counts milliseconds, too coarse for polling progress; an epoll descriptor can itself
// be polled.
bool wait_readable(int fd, uint64_t deadline_ns) {
  pollfd entry{fd, POLLIN, 0};
  if (deadline_ns == UINT64_MAX) return ppoll(&entry, 1, nullptr, nullptr) > 0;
  const uint64_t now_ns = monotonic_now_ns();
  const uint64_t wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
  const timespec timeout{static_cast<time_t>(wait_ns / kNsPerSecond),
                         static_cast<long>(wait_ns % kNsPerSecond)};
  return ppoll(&entry, 1, &timeout, nullptr) > 0;
}

}  // namespace

Result<EpollSet> EpollSet::create() {
  EpollSet set;
  set.epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!set.epoll_.valid()) return Error{errno, std::string("epoll: ") + strerror(errno)};
  return set;
}

Status EpollSet::add(int fd, uint64_t key) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return Error{errno, std::string("epoll: ") + strerror(errno)};
}

void EpollSet::wait(uint64_t deadline_ns, std::vector<uint64_t>& ready) {
  ready.clear();
  if (!wait_readable(epoll_.get(), deadline_ns)) return;
  epoll_event events[kEventsPerCall];
  const int count = epoll_wait(epoll_.get(), events, kEventsPerCall, 0);
  for (int i = 0; i < count; ++i) ready.push_back(events[i].data.u64);
}

}  // namespace gacer::daemon
