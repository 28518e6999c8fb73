// SPDX-License-Identifier: Apache-2.0
// SOCK_SEQPACKET: one message a packet, at most one descriptor with it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {

struct Packet {
  std::span<const uint8_t> bytes() const { return {buffer.data(), size}; }

  alignas(8) std::array<uint8_t, kMaxSimMessageBytes> buffer;
  size_t size = 0;
  UniqueFd fd;
};

enum class Received { kPacket, kNothing, kClosed, kBroken };

// Does not wait. kBroken: longer than kMaxSimMessageBytes or more than one descriptor.
Received receive_packet(int socket_fd, Packet& packet);

// Does not wait; `fd` < 0: none. False: the peer is gone or does not read.
bool send_packet(int socket_fd, std::span<const uint8_t> bytes, int fd);

// The listening socket of a server together with the lock that says "a server lives here".
class Listener {
 public:
  // Error::code EEXIST: another server holds the lock.
  static Result<Listener> open(const std::string& path);
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return socket_.get(); }
  UniqueFd accept() const;
  // Hides the socket from new clients; false (and visible again) when one connected in the
  // meantime.
  bool try_close(UniqueFd& late_client);

 private:
  Listener(std::string path, UniqueFd lock, UniqueFd socket)
      : path_(std::move(path)), lock_(std::move(lock)), socket_(std::move(socket)) {}

  std::string path_;
  UniqueFd lock_;
  UniqueFd socket_;
};

}  // namespace gacer::simdevice
