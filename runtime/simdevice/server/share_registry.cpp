// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/share_registry.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

namespace gacer::simdevice {
namespace {

std::optional<std::pair<dev_t, ino_t>> pipe_inode(int fd) {
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

bool hung_up(int reading_end) {
  pollfd state{reading_end, 0, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) != 0;
}

}  // namespace

Result<ShareRegistry> ShareRegistry::create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid())
    return Error{errno, std::string("cannot make epoll: ") + std::strerror(errno)};
  return ShareRegistry(std::move(epoll));
}

void ShareRegistry::collect() {
  std::erase_if(shares_, [](const auto& entry) { return hung_up(entry.second.reading_end.get()); });
}

UniqueFd ShareRegistry::share(SharedObject object) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const auto inode = pipe_inode(reading.get());
  epoll_event event{};  // no events asked for: a hang-up is always told
  if (!inode || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, reading.get(), &event) != 0) return {};
  shares_[*inode] = {std::move(reading), std::move(object)};
  return writing;
}

SharedObject ShareRegistry::find(int fd) const {
  const auto inode = pipe_inode(fd);
  if (!inode) return {};
  const auto found = shares_.find(*inode);
  return found == shares_.end() ? SharedObject{} : found->second.object;
}

}  // namespace gacer::simdevice
