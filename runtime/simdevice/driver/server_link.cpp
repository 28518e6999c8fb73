// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/server_link.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/simdevice/driver/client_identity.h"
#include "runtime/simdevice/driver/server_launch.h"
#include "runtime/simdevice/driver/sim_log.h"

namespace gacer::simdriver {
namespace {

using namespace simdevice;

constexpr int kSpins = 200;
constexpr long kLivenessCheckNs = 100'000'000;

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen) {
  const timespec limit{0, kLivenessCheckNs};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

struct Packet {
  std::vector<uint8_t> bytes;
  UniqueFd fd;
};

void take_fd(msghdr& header, UniqueFd& fd) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int received = -1;
    memcpy(&received, CMSG_DATA(part), sizeof received);
    fd.reset(received);
  }
}

// Empty bytes: the peer is gone.
Packet receive(int socket) {
  Packet packet;
  packet.bytes.resize(4096);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part{packet.bytes.data(), packet.bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  packet.bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  if (got > 0) take_fd(header, packet.fd);
  return packet;
}

template <typename M>
std::optional<M> as_message(const Packet& packet, SimType type) {
  M message{};
  SimHeader header{};
  if (packet.bytes.size() < sizeof message) return std::nullopt;
  memcpy(&header, packet.bytes.data(), sizeof header);
  if (header.magic != kSimMagic || header.type != static_cast<uint16_t>(type)) return std::nullopt;
  memcpy(&message, packet.bytes.data(), sizeof message);
  return message;
}

Reply to_reply(const ReplyMsg& message, UniqueFd fd) {
  const char* end = std::find(std::begin(message.text), std::end(message.text), '\0');
  return Reply{static_cast<CUresult>(message.error), message.value, message.value2, message.detail,
               std::string(message.text, end),       std::move(fd)};
}

// Yama lets only an ancestor read this process's memory; the server needs it for copies of pageable
// memory.
void allow_server_to_read(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
    prctl(PR_SET_PTRACER, static_cast<unsigned long>(peer.pid), 0, 0, 0);
}

}  // namespace

Result<ServerLink::Device> ServerLink::open() {
  auto socket = connect_to_server();
  if (!socket.ok()) return socket.error();
  socket_ = std::move(socket).value();
  allow_server_to_read(socket_.get());
  return say_hello();
}

Result<ServerLink::Device> ServerLink::say_hello() {
  auto hello = make_message<HelloMsg>(SimType::kHello);
  fill_identity(hello);
  Reply reply = request(hello);
  if (reply.error != CUDA_SUCCESS)
    return Error{reply.error,
                 reply.text.empty() ? "the device server closed the connection" : reply.text};
  if (const Status mapped = map_page(reply.fd); !mapped.ok()) return mapped.error();
  if (reply.value == 0 || reply.value > kMaxDevices)
    return Error{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "the device server has no usable device"};
  if (const Status asked = ask_for_faults(); !asked.ok()) return asked.error();
  return Device{reply.text, static_cast<uint32_t>(reply.value)};
}

// A rule that is not understood ends cuInit: silently ignored it would show a program as sound.
Status ServerLink::ask_for_faults() {
  const char* rules = getenv("SIMGPU_FAULT");
  if (rules == nullptr || *rules == '\0') return {};
  auto message = make_message<FaultMsg>(SimType::kFault);
  if (strlen(rules) >= sizeof message.rules)
    return Error{CUDA_ERROR_INVALID_VALUE, "SIMGPU_FAULT: longer than 511 characters"};
  memcpy(message.rules, rules, strlen(rules));
  const Reply reply = request(message);
  if (reply.error == CUDA_SUCCESS) return {};
  return Error{reply.error, "SIMGPU_FAULT: " + reply.text};
}

Status ServerLink::map_page(const UniqueFd& fd) {
  void* memory = mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return Error{errno, "the device server sent no usable client page"};
  page_ = static_cast<ClientPage*>(memory);
  if (page_->magic == kSimMagic && page_->version == kSimVersion) return {};
  return Error{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
               "the running device server speaks protocol " + std::to_string(page_->version) +
                   ", this driver " + std::to_string(kSimVersion) +
                   "; end the programs that use it and start again"};
}

CUresult ServerLink::sticky_error() const {
  // Pairs with the server's release after it has written error_text.
  const auto error = static_cast<CUresult>(page_->sticky_error.load(std::memory_order_acquire));
  if (error != CUDA_SUCCESS && !sticky_reported_.exchange(true, std::memory_order_relaxed))
    sim_log(LogLevel::kWarn, "%.*s", static_cast<int>(sizeof page_->error_text), page_->error_text);
  return error;
}

bool ServerLink::send_packet(const void* message, size_t bytes, int fd) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{const_cast<void*>(message), bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    *rights = {
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

CUresult ServerLink::send_op(StreamCounter& stream, void* message, size_t bytes) {
  const std::lock_guard lock(send_mutex_);
  if (stream.ended.load(std::memory_order_relaxed)) return CUDA_ERROR_INVALID_HANDLE;
  const uint64_t seq = stream.last_seq.load(std::memory_order_relaxed) + 1;
  memcpy(static_cast<char*>(message) + offsetof(OpHeader, seq), &seq, sizeof seq);
  if (!send_packet(message, bytes, -1)) return lost();
  stream.last_seq.store(
      seq, std::memory_order_release);  // pairs with the acquire loads of those that wait
  return CUDA_SUCCESS;
}

bool ServerLink::end_stream(StreamCounter& stream, StreamMsg message) {
  const std::lock_guard lock(send_mutex_);
  if (stream.ended.exchange(true, std::memory_order_relaxed)) return false;
  if (!send_packet(&message, sizeof message, -1)) lost();
  return true;
}

bool ServerLink::forget_stream(StreamCounter& stream) {
  const std::lock_guard lock(send_mutex_);
  return !stream.ended.exchange(true, std::memory_order_relaxed);
}

Reply ServerLink::exchange(void* message, size_t bytes, int fd) {
  std::unique_lock lock(receive_mutex_);
  const uint32_t id = next_request_++;
  if (next_request_ == 0) next_request_ = 1;
  replies_.emplace(id, std::nullopt);
  lock.unlock();
  memcpy(static_cast<char*>(message) + offsetof(SimHeader, request_id), &id, sizeof id);
  {
    const std::lock_guard sending(send_mutex_);
    if (!send_packet(message, bytes, fd)) lost();
  }
  lock.lock();
  wait_until(lock, [&] { return replies_[id].has_value(); });
  std::optional<Reply> reply = std::move(replies_[id]);
  replies_.erase(id);
  return reply ? std::move(*reply) : Reply{};
}

void ServerLink::wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done) {
  while (!done() && alive()) {
    if (has_leader_) {
      received_.wait(lock);
      continue;
    }
    has_leader_ = true;
    lock.unlock();
    read_packet();
    lock.lock();
    has_leader_ = false;
    received_.notify_all();
  }
}

void ServerLink::read_packet() {
  Packet packet = receive(socket_.get());
  if (packet.bytes.empty()) {
    lost();
    return;
  }
  const std::lock_guard lock(receive_mutex_);
  if (auto reply = as_message<ReplyMsg>(packet, SimType::kReply)) {
    const auto waiting = replies_.find(reply->header.request_id);
    if (waiting != replies_.end()) waiting->second = to_reply(*reply, std::move(packet.fd));
  } else if (auto call = as_message<HostFunctionOp>(packet, SimType::kRunHostFunction)) {
    host_functions_.push_back(call->token);
  } else {
    sim_log(LogLevel::kWarn, "a message of %zu bytes from the device server was not understood",
            packet.bytes.size());
  }
}

std::optional<uint64_t> ServerLink::next_host_function() {
  std::unique_lock lock(receive_mutex_);
  wait_until(lock, [&] { return !host_functions_.empty(); });
  if (host_functions_.empty()) return std::nullopt;
  const uint64_t token = host_functions_.front();
  host_functions_.pop_front();
  return token;
}

CUresult ServerLink::lost() {
  if (!dead_.exchange(true, std::memory_order_relaxed))
    sim_log(LogLevel::kError,
            "the server of the simulated device is gone; restart the program (see %s/server.log)",
            server_directory().c_str());
  return CUDA_ERROR_DEVICE_UNAVAILABLE;
}

void ServerLink::check_socket() {
  pollfd state{socket_.get(), POLLRDHUP, 0};
  if (poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) lost();
}

bool ServerLink::stream_done(uint32_t stream, uint64_t seq) const {
  // Acquire pairs with the server's release: what the operation wrote is visible.
  const bool done = page_->streams[stream].completed_seq.load(std::memory_order_acquire) >= seq;
  if (done) print_.flush();
  return done;
}

bool ServerLink::event_done(uint32_t event, uint64_t generation) const {
  // Acquire pairs with the server's release: device_ns and what was done before the record are
  // visible.
  const bool done =
      page_->events[event].completed_generation.load(std::memory_order_acquire) >= generation;
  if (done) print_.flush();
  return done;
}

uint64_t ServerLink::event_ns(uint32_t event) const {
  return page_->events[event].device_ns.load(std::memory_order_relaxed);  // ordered by event_done
}

template <typename Word, typename Done>
CUresult ServerLink::wait_word(Word& word, const Done& done) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (done()) return sticky_error();
    __builtin_ia32_pause();
  }
  // Sequentially consistent on both sides: either the server sees a waiter or this thread sees the
  // completion.
  word.waiters.fetch_add(1, std::memory_order_seq_cst);
  while (alive()) {
    const uint32_t seen = word.futex.load(std::memory_order_seq_cst);
    if (done() || sticky_error() != CUDA_SUCCESS) break;
    futex_wait(word.futex, seen);
    if (!done()) check_socket();
  }
  word.waiters.fetch_sub(1, std::memory_order_seq_cst);
  print_.flush();  // what was printed before a fault too
  if (done()) return sticky_error();
  return sticky_error() != CUDA_SUCCESS ? sticky_error() : CUDA_ERROR_DEVICE_UNAVAILABLE;
}

CUresult ServerLink::wait_stream(uint32_t stream, uint64_t seq) {
  return wait_word(page_->streams[stream], [&] { return stream_done(stream, seq); });
}

CUresult ServerLink::wait_event(uint32_t event, uint64_t generation) {
  return wait_word(page_->events[event], [&] { return event_done(event, generation); });
}

void ServerLink::abandon() {
  dead_.store(true, std::memory_order_relaxed);
  socket_.reset();
}

}  // namespace gacer::simdriver
