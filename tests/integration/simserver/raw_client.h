// SPDX-License-Identifier: Apache-2.0
// Speaks the protocol of simgpu-server without the driver, so that tests can also break it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice::test {

// A server process with a socket in a directory of its own; ended and removed by the destructor.
class ServerProcess {
 public:
  explicit ServerProcess(std::vector<std::string> options = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& socket_path() const { return socket_path_; }
  const std::string& directory() const { return directory_; }
  pid_t pid() const { return pid_; }
  // Exit status once the process has ended by itself within `limit_ms`.
  std::optional<int> wait_exit(int limit_ms);
  bool running();

 private:
  std::string directory_;
  std::string socket_path_;
  pid_t pid_ = -1;
};

struct Launch {
  uint64_t module = 0;
  uint32_t kernel = 0;
  uint32_t grid_x = 1;
  uint32_t block_x = 32;
  std::vector<uint64_t> params = {};
  int32_t priority = INT32_MIN;
  uint32_t dynamic_smem_bytes = 0;
  uint32_t cluster = 0;  // as in KernelOp
  uint32_t flags = 0;
};

class RawClient {
 public:
  // Waits until the server listens. Check connected().
  explicit RawClient(const std::string& socket_path);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return socket_.valid(); }
  ReplyMsg hello(std::string_view label = "test", std::string_view device = "", bool mps = true);
  // hello and a primary context; false on any error.
  bool start(bool mps = true);

  ReplyMsg context(SimType type, uint32_t context);
  ReplyMsg alloc(uint64_t bytes, uint32_t context = 0);
  ReplyMsg free(uint64_t address);
  ReplyMsg mem_info();
  ReplyMsg host_map(uint64_t address, uint64_t bytes, int fd, bool charge = false);
  ReplyMsg load(std::string_view ptx, std::string* json = nullptr);
  ReplyMsg unload(uint64_t module);

  void stream(uint32_t stream, uint32_t blocking, int32_t priority = 0);
  uint64_t launch(uint32_t stream, const Launch& launch);
  uint64_t copy(uint32_t stream, CopyKind kind, uint64_t dst, uint64_t src, uint64_t bytes);
  uint64_t memset32(uint32_t stream, uint64_t dst, uint32_t value, uint64_t elements);
  void record(uint32_t stream, uint32_t event, uint64_t generation);
  void wait_event(uint32_t stream, uint32_t event, uint64_t generation);
  void write_value(uint32_t stream, uint64_t address, uint64_t value);
  void wait_value(uint32_t stream, uint64_t address, uint64_t value);
  void host_function(uint32_t stream, uint64_t token);
  std::optional<uint64_t> receive_host_function();
  void host_function_done(uint64_t token);

  // Until everything on the stream is done; false after `limit_ms` or when the server has gone.
  bool sync(uint32_t stream, int limit_ms = 20'000);
  bool event_done(uint32_t event, uint64_t generation) const;
  // True when the server closes the connection within `limit_ms`.
  bool closed_by_server(int limit_ms = 5'000);

  void send(const void* bytes, size_t size, int fd = -1);
  // Any request; the header is filled in.
  template <typename T>
  ReplyMsg ask(T& message, SimType type, int fd = -1, UniqueFd* reply_fd = nullptr) {
    return request(&message, sizeof message, type, fd, reply_fd);
  }
  const ClientPage* page() const { return page_; }

 private:
  friend class Request;
  ReplyMsg request(void* message, size_t size, SimType type, int fd = -1,
                   UniqueFd* reply_fd = nullptr);
  template <typename T>
  T op(SimType type, uint32_t stream);
  uint64_t next_seq(uint32_t stream) { return ++seq_[stream]; }

  UniqueFd socket_;
  ClientPage* page_ = nullptr;
  uint32_t next_request_ = 1;
  std::vector<uint64_t> seq_ = std::vector<uint64_t>(kSimStreams);
};

// The whole of a small file; empty when it cannot be read.
std::string read_file(const std::string& path);

// True as soon as `condition` is; false after `limit_ms`.
template <typename Condition>
bool eventually(Condition condition, int limit_ms = 20'000);

}  // namespace gacer::simdevice::test

#include <unistd.h>

namespace gacer::simdevice::test {

template <typename Condition>
bool eventually(Condition condition, int limit_ms) {
  for (int waited = 0; waited < limit_ms; ++waited) {
    if (condition()) return true;
    ::usleep(1000);
  }
  return condition();
}

template <typename T>
T RawClient::op(SimType type, uint32_t stream) {
  T message{};
  message.op.header = {kSimMagic, kSimVersion, static_cast<uint16_t>(type), sizeof message, 0};
  message.op.stream = stream;
  message.op.seq = next_seq(stream);
  return message;
}

}  // namespace gacer::simdevice::test
