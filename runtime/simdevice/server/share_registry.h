// SPDX-License-Identifier: Apache-2.0
// What clients have exported for other processes, as descriptors or as plain bytes. A descriptor is
// the writing end of a pipe whose reading end stays here: the server knows it again by its inode,
// which nobody can forge, and sees by the hang-up that its last copy, in whatever process, has been
// closed. Plain bytes hold a random token that means the object only while others keep it. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/server/engine_op.h"
#include "runtime/simdevice/server/memory_pool.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {

// An event that several processes record and wait for.
struct SharedEvent {
  EngineOp newest;  // record
};

using SharedObject =
    std::variant<std::monostate, std::shared_ptr<Backing>, std::shared_ptr<MemoryPool>,
                 std::shared_ptr<PoolPiece>, std::shared_ptr<SharedEvent>>;

class ShareRegistry {
 public:
  using WeakObject = std::variant<std::monostate, std::weak_ptr<Backing>, std::weak_ptr<MemoryPool>,
                                  std::weak_ptr<PoolPiece>, std::weak_ptr<SharedEvent>>;

  static Result<ShareRegistry> create();

  // Readable when collect() has something to do.
  int fd() const { return epoll_.get(); }
  // Lets go of what nobody holds a descriptor of any more.
  void collect();

  // Keeps `object` until all copies of the descriptor are closed; not valid: out of descriptors.
  UniqueFd share(SharedObject object);
  // monostate: not a descriptor of this server.
  SharedObject find(int fd) const;

  // A new token for `object`, which it does not keep.
  ShareToken make_token(const SharedObject& object);
  // monostate: no such token, or its object is gone.
  SharedObject find(const ShareToken& token) const;

 private:
  explicit ShareRegistry(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  struct Share {
    UniqueFd reading_end;
    SharedObject object;
  };
  using Inode = std::pair<dev_t, ino_t>;

  UniqueFd epoll_;
  std::map<Inode, Share> shares_;
  std::map<std::pair<uint64_t, uint64_t>, WeakObject> tokens_;
};

}  // namespace gacer::simdevice
