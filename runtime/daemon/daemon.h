// SPDX-License-Identifier: Apache-2.0
// gacerd's event loop: listener, sessions, ends of processes, and a round of the tenant table
// whenever the core wants one. One thread runs it; request_stop() may come from any thread or a
// signal handler.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/daemon/control_socket.h"
#include "runtime/daemon/epoll_set.h"
#include "runtime/daemon/session.h"
#include "runtime/daemon/tenant_table.h"

namespace gacer::daemon {

class Daemon {
 public:
  // Listens when it returns. Errors as ControlSocket::open.
  static Result<std::unique_ptr<Daemon>> create(const std::string& socket_path,
                                                std::unique_ptr<regulator::Regulator> core);

  // Until request_stop() or a tool's "shutdown"; then every tenant is told to pass through and the
  // socket is removed with the object.
  void run();

  // Async-signal-safe.
  void request_stop();

 private:
  struct Entry {
    std::unique_ptr<Session> session;
    UniqueFd pidfd;
  };

  Daemon(ControlSocket control, EpollSet epoll, std::unique_ptr<TenantTable> table,
         uint64_t now_ns);
  Status start();
  void dispatch(uint64_t key, uint64_t now_ns);
  void accept_waiting(uint64_t now_ns);
  void refuse_for_lack_of_fds();
  void add_session(UniqueFd socket, uint64_t now_ns);
  void settle_releases(uint64_t asking);
  bool lives_on(const Entry& entry) const;
  void lost_socket(uint64_t id, uint64_t now_ns);
  void drop(uint64_t id, uint64_t now_ns);
  void drop_silent(uint64_t now_ns);
  bool still_new(uint64_t id) const;
  uint64_t next_deadline_ns() const;
  DaemonFacts facts(uint64_t now_ns) const;

  std::optional<ControlSocket> control_;  // empty once run() has ended
  EpollSet epoll_;
  std::unique_ptr<TenantTable> table_;
  UniqueFd stop_event_;
  UniqueFd spare_fd_;  // given up for a moment when descriptors run out
  std::map<uint64_t, Entry> sessions_;
  struct Survivor {
    UniqueFd pidfd;
    uint64_t process_id;
  };
  std::map<uint64_t, Survivor> survivors_;  // sessions whose process outlives its socket
  std::vector<uint64_t> new_sessions_;      // that have not said what they are
  uint64_t next_session_id_ = 1;
  uint64_t started_ns_;
  bool stopping_ = false;
};

}  // namespace gacer::daemon
