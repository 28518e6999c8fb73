// SPDX-License-Identifier: Apache-2.0
// The loop of simgpu-server: clients in, model time forward, completions out. Single-threaded but
// for the block pool.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/simdevice/engine/engine.h"
#include "runtime/simdevice/server/client.h"
#include "runtime/simdevice/server/message_handler.h"
#include "runtime/simdevice/server/model_clock.h"
#include "runtime/simdevice/server/op_executor.h"
#include "runtime/simdevice/server/options.h"
#include "runtime/simdevice/server/packet_socket.h"
#include "runtime/simdevice/server/timeline.h"

namespace gacer::simdevice {

class Server {
 public:
  static Result<std::unique_ptr<Server>> create(const ServerOptions& options);
  ~Server();

  // Until the last client has been gone for options.linger_s, or SIGTERM/SIGINT. Returns the exit
  // status.
  int run();

 private:
  Server(const ServerOptions& options, std::vector<DeviceMemory> memory, ShareRegistry shares,
         Listener listener, UniqueFd epoll, UniqueFd signals);
  void wait_for_work();
  uint64_t sleep_ns() const;
  void handle_ready(int fd, uint32_t events);
  void handle_signal();
  void terminate_mps_client(pid_t pid);
  void contain_mps_faults();
  void accept_clients();
  void admit(UniqueFd socket);
  void read_client(Client& client);
  void drop(Client& client, const char* why);
  void drop_doomed();
  void pause_or_resume_reading();
  void advance();
  void advance_engines();
  uint64_t next_event_ns() const;
  size_t pending_ops(const Client& client) const;
  void sample_shares();
  void write_timeline();
  // But observers.
  bool nobody_uses() const;
  bool linger_over();
  uint64_t linger_ns() const {
    return executor_.device_lost() ? 0 : static_cast<uint64_t>(options_.linger_s * 1e9);
  }

  ServerOptions options_;
  SteadyClock real_clock_;
  ModelClock clock_;
  std::vector<DeviceMemory> memory_;  // by device, as engines_
  ShareRegistry shares_;
  Timeline timeline_;
  KernelRunner runner_;
  OpExecutor executor_;
  std::deque<Engine> engines_;
  MessageHandler handler_;
  Listener listener_;
  UniqueFd epoll_;
  UniqueFd signals_;
  Clients clients_;
  std::vector<int> doomed_;
  std::unique_ptr<Packet> packet_ = std::make_unique<Packet>();
  uint64_t idle_since_ns_;
  uint64_t next_sample_ns_ = 0;
  uint64_t timeline_written_ns_ = 0;
  bool stop_ = false;
  bool mps_fault_ = false;
};

}  // namespace gacer::simdevice
