// SPDX-License-Identifier: Apache-2.0
// The connection of this process to the server that owns the device (protocol: ../sim_messages.h).
//
// Sending: any thread, one packet at a time, so the order of sends is the order the server sees; a
// stream's sequence numbers are handed out under the same lock. Receiving: whoever waits for
// something reads the socket for all ("leader"); the others sleep until their own condition holds.
// So replies arrive while a host function runs, and no thread exists before one is needed.
// Completion: the server's writes to the client page; waits spin shortly, then futex. A dead server
// ends every wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/device_print.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdriver {

// What the device does of a stream: shared by the stream and those that wait for it. seq 0: nothing
// submitted yet; a later owner of the id counts on.
struct StreamCounter {
  uint32_t id = 0;
  std::atomic<uint64_t> last_seq{0};  // written under the link's send lock
  // Written under the same lock: nothing may be sent any more.
  std::atomic<bool> ended{false};
};

struct Reply {
  CUresult error = CUDA_ERROR_DEVICE_UNAVAILABLE;
  uint64_t value = 0;
  uint64_t value2 = 0;
  uint32_t detail = 0;
  std::string text;
  UniqueFd fd;
};

// A message of type M with its header filled in; M starts with SimHeader or OpHeader.
template <typename M>
M make_message(simdevice::SimType type, uint32_t bytes = sizeof(M)) {
  M message{};
  const simdevice::SimHeader header{simdevice::kSimMagic, simdevice::kSimVersion,
                                    static_cast<uint16_t>(type), bytes, 0};
  memcpy(&message, &header, sizeof header);
  return message;
}

class ServerLink {
 public:
  struct Device {
    std::string key;
    uint32_t count = 0;
  };
  // Connects, starting a server if there is none, and says hello. What it simulates on success.
  Result<Device> open();

  // True until the server is gone.
  bool alive() const { return !dead_.load(std::memory_order_relaxed); }
  // The error that ended all contexts of this process (illegal address, ...) or CUDA_SUCCESS. What
  // faulted is logged once.
  CUresult sticky_error() const;

  // Sends `message` and waits for its reply. Thread-safe.
  template <typename M>
  Reply request(M message, int fd = -1) {
    return exchange(&message, sizeof message, fd);
  }
  // Sends a message that is never answered.
  template <typename M>
  CUresult send(const M& message) {
    const std::lock_guard lock(send_mutex_);
    return send_packet(&message, sizeof message, -1) ? CUDA_SUCCESS : lost();
  }
  // Sends a stream operation (starts with OpHeader) of `bytes`, giving it the stream's next
  // sequence number.
  CUresult send_op(StreamCounter& stream, void* message, size_t bytes);

  // Sends the message that ends the stream, once; false when it had ended before.
  bool end_stream(StreamCounter& stream, simdevice::StreamMsg message);
  // The same without a message: its context is gone.
  bool forget_stream(StreamCounter& stream);

  bool stream_done(uint32_t stream, uint64_t seq) const;
  bool event_done(uint32_t event, uint64_t generation) const;
  CUresult wait_stream(uint32_t stream, uint64_t seq);
  CUresult wait_event(uint32_t event, uint64_t generation);
  uint64_t event_ns(uint32_t event) const;

  // Text of kernels.
  DevicePrint& print() { return print_; }

  // Blocks until the server asks for a host function; nullopt when the server is gone.
  std::optional<uint64_t> next_host_function();

  // In a fork child: gives up the connection without telling the server anything.
  void abandon();

 private:
  Result<Device> say_hello();
  Status map_page(const UniqueFd& fd);
  Status ask_for_faults();
  Reply exchange(void* message, size_t bytes, int fd);
  bool send_packet(const void* message, size_t bytes, int fd);
  // Reads one packet and files it. Called without the lock by the one leader.
  void read_packet();
  void wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);
  template <typename Word, typename Done>
  CUresult wait_word(Word& word, const Done& done);
  CUresult lost();
  void check_socket();

  UniqueFd socket_;
  simdevice::ClientPage* page_ = nullptr;
  std::atomic<bool> dead_{false};
  mutable std::atomic<bool> sticky_reported_{false};
  mutable DevicePrint print_;  // flushed by whoever sees that something is done
  std::mutex send_mutex_;
  std::mutex receive_mutex_;  // guards all below
  std::condition_variable received_;
  bool has_leader_ = false;
  uint32_t next_request_ = 1;
  std::map<uint32_t, std::optional<Reply>> replies_;
  std::deque<uint64_t> host_functions_;
};

}  // namespace gacer::simdriver
