// SPDX-License-Identifier: Apache-2.0
// One connection's side of the protocol. Not thread-safe.
//
//   new ──Hello ok──────> tenant ── MemReserve/MemRelease* ── closed, dead or a wrong message ──>
//   gone
//    │ └─Admin, MemQuery─> tool ── Admin*/MemQuery* ─────────────────────────────────────────────>
//    gone └─anything else: Refused, gone
//
// The end of a tenant's session detaches its process: memory and share come back.
#pragma once

#include <functional>
#include <vector>

#include "runtime/daemon/admin.h"
#include "runtime/daemon/tenant_table.h"
#include "runtime/shm/handshake.h"

namespace gacer::daemon {

class Session {
 public:
  enum class Next { kKeep, kClose, kShutdown };

  Session(UniqueFd socket, shm::PeerIdentity peer, TenantTable& table, uint64_t now_ns)
      : socket_(std::move(socket)), peer_(peer), table_(&table), since_ns_(now_ns) {}

  // Reads and answers at most a few packets of a non-blocking socket.
  Next on_readable(const DaemonFacts& facts, uint64_t now_ns);
  // To be called once before the session is destroyed, unless the table was detached as a whole.
  void end(uint64_t now_ns, bool process_lives_on = false);

  // Called before a reservation is refused, which is then tried again: a free that happened before
  // it may still lie unread in another process's socket.
  void before_refusal(std::function<void()> settle) { settle_ = std::move(settle); }
  // Reads the releases that are waiting at the head of the socket, nothing else.
  void take_releases();

  int socket_fd() const { return socket_.get(); }
  const shm::PeerIdentity& peer() const { return peer_; }
  uint64_t process_id() const { return process_id_; }  // 0: no tenant, or ended
  bool is_new() const { return role_ == Role::kNew; }
  uint64_t since_ns() const { return since_ns_; }

 private:
  enum class Role { kNew, kTenant, kTool };

  Next on_packet(size_t bytes, const DaemonFacts& facts, uint64_t now_ns);
  Next on_first(size_t bytes, const DaemonFacts& facts, uint64_t now_ns);
  Next on_hello(size_t bytes, uint64_t now_ns);
  Next on_memory(size_t bytes);
  Next on_tool(size_t bytes, const DaemonFacts& facts);
  Next on_query(size_t bytes);
  Next send_grant(uint64_t bytes, const MemoryAnswer& answer);
  Next on_admin(size_t bytes, const DaemonFacts& facts);
  Next welcome(TenantProcess& process);
  Next refuse(const Error& why);
  uint16_t message_type() const;
  MemoryAnswer reserve(const abi::MemoryMessage& request);

  UniqueFd socket_;
  shm::PeerIdentity peer_;
  TenantTable* table_;
  uint64_t since_ns_;
  Role role_ = Role::kNew;
  uint64_t process_id_ = 0;  // 0: none
  std::function<void()> settle_;
  alignas(8) unsigned char buffer_[4096];
};

}  // namespace gacer::daemon
