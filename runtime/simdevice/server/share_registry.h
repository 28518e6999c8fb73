// SPDX-License-Identifier: Apache-2.0
// What clients have exported as descriptors for other processes. A descriptor is the writing end of
// a pipe whose reading end stays here: the server knows it again by its inode, which nobody can
// forge, and sees by the hang-up that its last copy, in whatever process, has been closed. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/server/backing.h"

namespace gacer::simdevice {

using SharedObject = std::variant<std::monostate, std::shared_ptr<Backing>>;

class ShareRegistry {
 public:
  static Result<ShareRegistry> create();

  // Readable when collect() has something to do.
  int fd() const { return epoll_.get(); }
  // Lets go of what nobody holds a descriptor of any more.
  void collect();

  // Keeps `object` until all copies of the descriptor are closed; not valid: out of descriptors.
  UniqueFd share(SharedObject object);
  // monostate: not a descriptor of this server.
  SharedObject find(int fd) const;

 private:
  explicit ShareRegistry(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  struct Share {
    UniqueFd reading_end;
    SharedObject object;
  };
  using Inode = std::pair<dev_t, ino_t>;

  UniqueFd epoll_;
  std::map<Inode, Share> shares_;
};

}  // namespace gacer::simdevice
