// SPDX-License-Identifier: Apache-2.0
// See README.md. One thread serves all clients; options are read when a client says hello.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/abi/control_messages.h"
#include "runtime/abi/segment_layout.h"
#include "runtime/base/unique_fd.h"
#include "runtime/shm/launch_ring.h"
#include "runtime/shm/memory_segment.h"

namespace gacer::test {

enum class StandInFault {
  kNone,
  kRefuse,          // answers Refused with `refusal`
  kSegmentVersion,  // the segment carries another version
  kUnsealed,        // the memfd could still be shrunk
  kShortSegment,    // announced and sent with half the size
  kWelcomeVersion,  // the message carries another version
  kNoFds,           // welcome without descriptors
  kSilent,          // never answers
  kHangUp,          // closes after the hello
};

struct StandInOptions {
  abi::GateMode mode = abi::GateMode::kUngated;
  uint64_t window_ns = 0;
  bool record = false;
  uint32_t mark_every = 0;
  uint64_t max_wait_ns = 50'000'000;
  int32_t stream_priority = abi::kPriorityKeep;
  uint64_t memory_limit_bytes = 0;
  StandInFault fault = StandInFault::kNone;
  std::string refusal = "no room for another tenant; stop one";
  bool beating = true;
};

struct StandInClient {
  UniqueFd socket;
  shm::MemorySegment memory;
  std::unique_ptr<shm::LaunchRingReader> reader;
  abi::HelloMessage hello{};
  uint64_t records = 0;
  uint64_t kernel_records = 0;
  bool gone = false;
  abi::Segment& segment() { return *static_cast<abi::Segment*>(memory.data()); }
};

class StandInDaemon {
 public:
  explicit StandInDaemon(std::string socket_path) : path_(std::move(socket_path)) {}
  ~StandInDaemon() { stop(); }

  bool start(const StandInOptions& options);
  // Closes everything, as the end of the process would.
  void stop();

  void set_words(const StandInOptions& options);  // for all clients, now and later
  int welcomed() const { return welcomed_.load(); }
  int live_clients();
  // As another process of the tenant would.
  void add_memory(uint64_t bytes, const abi::DeviceUuid& device = {}) {
    const std::lock_guard lock(mutex_);
    change_memory(device, bytes);
  }
  uint64_t memory_used() const { return memory_used_.load(); }  // on all devices
  uint64_t memory_used_on(const abi::DeviceUuid& device) {
    const std::lock_guard lock(mutex_);
    return device_used_[device];
  }
  uint64_t overhead() const { return overhead_.load(); }  // told of, never counted here

  // Runs `look` on the client with the serving thread held off; false: no such client.
  template <typename Look>
  bool with_client(size_t index, const Look& look) {
    const std::lock_guard lock(mutex_);
    if (index >= clients_.size()) return false;
    look(*clients_[index]);
    return true;
  }

 private:
  void change_memory(const abi::DeviceUuid& device, uint64_t bytes) {
    memory_used_ += bytes;
    device_used_[device] += bytes;
  }
  void serve();
  void beat();
  void accept_one();
  void greet(UniqueFd socket);
  bool answer_hello(StandInClient& client);
  bool make_segment(StandInClient& client);
  bool send_welcome(StandInClient& client);
  void hear(StandInClient& client);
  void answer_memory(StandInClient& client, const abi::MemoryMessage& message);
  void drain(StandInClient& client);

  std::string path_;
  StandInOptions options_;
  UniqueFd listener_;
  shm::MemorySegment board_memory_;
  std::vector<std::unique_ptr<StandInClient>> clients_;
  std::vector<UniqueFd> ignored_;  // kept open, never answered
  std::mutex mutex_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> welcomed_{0};
  std::atomic<uint64_t> memory_used_{0};
  std::atomic<uint64_t> overhead_{0};
  std::map<abi::DeviceUuid, uint64_t> device_used_;
};

// Writes the options' words as one decision.
void write_words(abi::Segment& segment, const StandInOptions& options);

}  // namespace gacer::test
