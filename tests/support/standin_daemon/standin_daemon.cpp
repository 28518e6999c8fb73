// SPDX-License-Identifier: Apache-2.0
#include "tests/support/standin_daemon/standin_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "runtime/base/clock.h"
#include "runtime/shm/futex.h"
#include "runtime/shm/handshake.h"
#include "runtime/shm/segment_format.h"

namespace gacer::test {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// A memfd that looks like a segment but was never sealed.
UniqueFd unsealed_memfd(uint64_t bytes) {
  UniqueFd fd(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return UniqueFd();
  return fd;
}

}  // namespace

void write_words(abi::Segment& segment, const StandInOptions& options) {
  abi::GateWords& gate = segment.gate;
  gate.mode.store(static_cast<uint32_t>(options.mode), kRelaxed);
  gate.flags.store(options.record ? uint32_t{abi::kFlagRecord} : 0u, kRelaxed);
  gate.mark_every.store(options.mark_every, kRelaxed);
  gate.window_ns.store(options.window_ns, kRelaxed);
  gate.max_wait_ns.store(options.max_wait_ns, kRelaxed);
  gate.stream_priority.store(options.stream_priority, kRelaxed);
  gate.memory_limit_bytes.store(options.memory_limit_bytes, kRelaxed);
  gate.gate_seq.fetch_add(1, std::memory_order_seq_cst);  // pairs with the shim's loads
  shm::futex_wake_all(gate.gate_seq);
}

bool StandInDaemon::start(const StandInOptions& options) {
  options_ = options;
  auto board = shm::MemorySegment::create_published("standin-board", sizeof(abi::Board));
  if (!board) return false;
  board_memory_ = std::move(board).value();
  shm::format_board(*static_cast<abi::Board*>(board_memory_.data()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return false;
  memcpy(address.sun_path, path_.c_str(), path_.size());
  unlink(path_.c_str());
  listener_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return false;
  if (listen(listener_.get(), 128) != 0) return false;
  stopping_ = false;
  beat();
  thread_ = std::thread([this] { serve(); });
  return true;
}

void StandInDaemon::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  listener_.reset();
  for (auto& client : clients_) {
    // What was sent before the end still counts.
    if (!client->gone && client->socket.valid()) hear(*client);
    drain(*client);
    client->socket.reset();
  }
  ignored_.clear();
}

void StandInDaemon::set_words(const StandInOptions& options) {
  const std::lock_guard lock(mutex_);
  options_ = options;
  for (auto& client : clients_)
    if (client->memory.valid()) write_words(client->segment(), options_);
}

int StandInDaemon::live_clients() {
  const std::lock_guard lock(mutex_);
  int live = 0;
  for (const auto& client : clients_) live += client->gone ? 0 : 1;
  return live;
}

void StandInDaemon::beat() {
  if (!options_.beating) return;
  static_cast<abi::Board*>(board_memory_.data())->heartbeat_ns.store(monotonic_now_ns(), kRelaxed);
}

void StandInDaemon::serve() {
  while (!stopping_) {
    pollfd listening{listener_.get(), POLLIN, 0};
    // Often enough that a ring of 4096 records holds what a benchmark pushes meanwhile.
    const timespec pause{0, 100'000};
    ppoll(&listening, 1, &pause, nullptr);
    const std::lock_guard lock(mutex_);
    beat();
    if ((listening.revents & POLLIN) != 0) accept_one();
    for (auto& client : clients_) {
      if (!client->gone) hear(*client);
      drain(*client);
    }
  }
}

void StandInDaemon::accept_one() {
  UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.valid()) greet(std::move(socket));
}

void StandInDaemon::greet(UniqueFd socket) {
  auto client = std::make_unique<StandInClient>();
  client->socket = std::move(socket);
  if (!shm::receive_packet(client->socket.get(), &client->hello, sizeof client->hello)) return;
  if (options_.fault == StandInFault::kSilent)
    ignored_.push_back(std::move(client->socket));
  else if (answer_hello(*client))
    clients_.push_back(std::move(client));
}

bool StandInDaemon::answer_hello(StandInClient& client) {
  if (options_.fault == StandInFault::kHangUp) return false;
  if (options_.fault == StandInFault::kRefuse) {
    auto refused = shm::make_message<abi::RefusedMessage>(abi::MessageType::kRefused);
    refused.code = EBUSY;
    strncpy(refused.text, options_.refusal.c_str(), sizeof refused.text - 1);
    (void)shm::send_packet(client.socket.get(), &refused, sizeof refused).ok();
    return false;
  }
  // Counted first: the client goes on the moment it has its welcome.
  ++welcomed_;
  abi::DeviceUuid device{};
  memcpy(device.data(), client.hello.device_uuid, device.size());
  change_memory(device, client.hello.memory_in_use_bytes);
  return make_segment(client) && send_welcome(client);
}

bool StandInDaemon::make_segment(StandInClient& client) {
  auto memory = shm::MemorySegment::create("standin-segment", sizeof(abi::Segment));
  if (!memory) return false;
  client.memory = std::move(memory).value();
  shm::format_segment(client.segment(), 1, static_cast<uint64_t>(welcomed_.load()));
  if (options_.fault == StandInFault::kSegmentVersion)
    client.segment().header.version.store(abi::kAbiVersion + 41, std::memory_order_release);
  write_words(client.segment(), options_);
  client.reader = std::make_unique<shm::LaunchRingReader>(client.segment());
  return true;
}

bool StandInDaemon::send_welcome(StandInClient& client) {
  auto welcome = shm::make_message<abi::WelcomeMessage>(abi::MessageType::kWelcome);
  welcome.process_id = static_cast<uint64_t>(welcomed_.load());
  welcome.segment_bytes = sizeof(abi::Segment);
  welcome.board_bytes = sizeof(abi::Board);
  const int socket = client.socket.get();
  switch (options_.fault) {
    case StandInFault::kNoFds:
      return shm::send_packet(socket, &welcome, sizeof welcome).ok();
    case StandInFault::kWelcomeVersion:
      welcome.header.version += 41;
      break;
    case StandInFault::kUnsealed: {
      const UniqueFd fd = unsealed_memfd(sizeof(abi::Segment));
      return shm::send_packet(socket, &welcome, sizeof welcome, {fd.get(), board_memory_.fd()})
          .ok();
    }
    case StandInFault::kShortSegment: {
      auto half = shm::MemorySegment::create("half", sizeof(abi::Segment) / 2);
      return half.ok() &&
             shm::send_packet(socket, &welcome, sizeof welcome, {half->fd(), board_memory_.fd()})
                 .ok();
    }
    default:
      break;
  }
  return shm::send_packet(socket, &welcome, sizeof welcome,
                          {client.memory.fd(), board_memory_.fd()})
      .ok();
}

void StandInDaemon::hear(StandInClient& client) {
  pollfd ask{client.socket.get(), POLLIN | POLLRDHUP, 0};
  while (poll(&ask, 1, 0) > 0) {
    abi::MemoryMessage message{};
    if (!shm::receive_packet(client.socket.get(), &message, sizeof message)) {
      client.gone = true;
      return;
    }
    answer_memory(client, message);
  }
}

void StandInDaemon::answer_memory(StandInClient& client, const abi::MemoryMessage& message) {
  const bool release = message.header.type == static_cast<uint16_t>(abi::MessageType::kMemRelease);
  const bool overhead = message.kind == static_cast<uint32_t>(abi::MemoryKind::kOverhead);
  const bool held = message.kind == static_cast<uint32_t>(abi::MemoryKind::kHeld);
  const uint64_t change = release ? 0 - message.bytes : message.bytes;
  const uint64_t limit = options_.memory_limit_bytes;
  const uint64_t used = device_used_[message.device_uuid];
  const bool granted =
      release || overhead || held || limit == 0 || (used <= limit && message.bytes <= limit - used);
  if (overhead)
    overhead_ += change;
  else if (granted)
    change_memory(message.device_uuid, change);
  if (release) return;
  auto reply = shm::make_message<abi::MemoryMessage>(abi::MessageType::kMemReply);
  reply.granted = granted ? 1 : 0;
  reply.bytes = message.bytes;
  reply.tenant_used_bytes = device_used_[message.device_uuid];
  reply.tenant_limit_bytes = limit;
  reply.tenant_overhead_bytes = overhead_;
  (void)shm::send_packet(client.socket.get(), &reply, sizeof reply).ok();
}

void StandInDaemon::drain(StandInClient& client) {
  shm::LaunchEntry entry;
  while (client.reader != nullptr && client.reader->pop(entry, monotonic_now_ns())) {
    ++client.records;
    if (entry.kind == static_cast<uint8_t>(abi::LaunchKind::kKernel)) ++client.kernel_records;
  }
}

}  // namespace gacer::test
