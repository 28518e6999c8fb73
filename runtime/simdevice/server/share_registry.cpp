// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/share_registry.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/random.h>
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

struct Weaken {
  template <typename T>
  ShareRegistry::WeakObject operator()(const std::shared_ptr<T>& object) const {
    return std::weak_ptr<T>(object);
  }
  ShareRegistry::WeakObject operator()(std::monostate) const { return {}; }
};

struct Lock {
  template <typename T>
  SharedObject operator()(const std::weak_ptr<T>& object) const {
    if (auto alive = object.lock(); alive != nullptr) return alive;
    return {};
  }
  SharedObject operator()(std::monostate) const { return {}; }
};

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

ShareToken ShareRegistry::make_token(const SharedObject& object) {
  std::erase_if(tokens_,
                [](const auto& entry) { return std::visit(Lock{}, entry.second).index() == 0; });
  ShareToken token{};
  while (::getrandom(&token, sizeof token, 0) != static_cast<ssize_t>(sizeof token)) {
  }
  tokens_[{token.half[0], token.half[1]}] = std::visit(Weaken{}, object);
  return token;
}

SharedObject ShareRegistry::find(const ShareToken& token) const {
  const auto found = tokens_.find({token.half[0], token.half[1]});
  return found == tokens_.end() ? SharedObject{} : std::visit(Lock{}, found->second);
}

}  // namespace gacer::simdevice
