// SPDX-License-Identifier: Apache-2.0
// The listening socket and the lock file that keeps a second daemon away.
//
//   PATH.lock  flock'ed as long as this object lives; left behind, since removing it would race
//   PATH       SOCK_SEQPACKET, mode 0600; a stale socket of a dead daemon is replaced; removed at
//   the end
//
// The parent folder is created with mode 0700 when it is missing.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace gacer::daemon {

class ControlSocket {
 public:
  // EADDRINUSE: another daemon or program serves that path. EEXIST: the path is something else than
  // a socket.
  static Result<ControlSocket> open(const std::string& path);

  ControlSocket(ControlSocket&&) = default;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ~ControlSocket();

  int fd() const { return listener_.get(); }
  const std::string& path() const { return path_; }

 private:
  ControlSocket(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  Status bind_and_listen();

  std::string path_;
  UniqueFd lock_;
  UniqueFd listener_;
};

}  // namespace gacer::daemon
