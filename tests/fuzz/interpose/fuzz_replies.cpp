// SPDX-License-Identifier: Apache-2.0
// A hostile daemon answers: the shim that attaches and asks for memory, and a tool. Input, per
// answer: one byte of kind, one that says what goes with it, two of length, the packet's bytes.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/shm/handshake.h"
#include "runtime/shm/memory_segment.h"
#include "runtime/shm/segment_format.h"
#include "runtime/shm/tenant_channel.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tools/command.h"
#include "tools/control_client.h"

namespace gacer::fuzz {
namespace {

using abi::MessageType;

constexpr size_t kMaxPacket = 4096;
constexpr uint32_t kTimeoutMs = 2000;

struct Answer {
  std::vector<uint8_t> bytes;
  std::vector<UniqueFd> fds;
};

void put_header(std::vector<uint8_t>& packet, MessageType type, size_t bytes) {
  packet.resize(bytes < sizeof(abi::MessageHeader) ? sizeof(abi::MessageHeader) : bytes);
  const abi::MessageHeader header{abi::kMessageMagic, abi::kAbiVersion, static_cast<uint16_t>(type),
                                  0, static_cast<uint32_t>(packet.size())};
  memcpy(packet.data(), &header, sizeof header);
}

// What a real daemon sends along, or nearly.
UniqueFd descriptor(unsigned choice) {
  switch (choice % 4) {
    case 0: {
      auto memory = shm::MemorySegment::create("fuzz", sizeof(abi::Segment));
      require(memory.ok(), "memory");
      if (choice / 4 % 4 != 0)
        shm::format_segment(*static_cast<abi::Segment*>(memory->data()), 1, 1);
      return UniqueFd(dup(memory->fd()));
    }
    case 1: {
      auto memory = shm::MemorySegment::create_published("fuzz", sizeof(abi::Board));
      require(memory.ok(), "memory");
      if (choice / 4 % 4 != 0) shm::format_board(*static_cast<abi::Board*>(memory->data()));
      return UniqueFd(dup(memory->fd()));
    }
    case 2:
      return UniqueFd(memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    default:
      return UniqueFd(dup(STDERR_FILENO));
  }
}

Answer next_answer(Input& input) {
  Answer answer;
  const auto kind = input.value<uint8_t>();
  const auto along = input.value<uint8_t>();
  answer.bytes.resize(input.value<uint16_t>() % kMaxPacket);
  const size_t taken = input.take(answer.bytes.data(), answer.bytes.size());
  switch (kind % 6) {
    case 0:
      answer.bytes.resize(taken);
      break;
    case 1:
      put_header(answer.bytes, MessageType::kWelcome, sizeof(abi::WelcomeMessage));
      break;
    case 2:
      put_header(answer.bytes, MessageType::kRefused, sizeof(abi::RefusedMessage));
      break;
    case 3:
      put_header(answer.bytes, MessageType::kMemReply, sizeof(abi::MemoryMessage));
      break;
    case 4:
      put_header(answer.bytes, MessageType::kAdminReply, answer.bytes.size());
      break;
    default:
      put_header(answer.bytes, static_cast<MessageType>(kind / 6 % 12), answer.bytes.size());
  }
  if (along == 1) {
    answer.fds.push_back(descriptor(4));
    answer.fds.push_back(descriptor(5));
  } else {
    for (unsigned i = 0; i < along % 6u; ++i) answer.fds.push_back(descriptor(along / 6 + i));
  }
  return answer;
}

void send_answer(int socket, const Answer& answer) {
  int fds[8] = {};
  for (size_t i = 0; i < answer.fds.size(); ++i) fds[i] = answer.fds[i].get();
  iovec data{const_cast<uint8_t*>(answer.bytes.data()), answer.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!answer.fds.empty()) {
    const size_t bytes = answer.fds.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(rights), fds, bytes);
  }
  sendmsg(socket, &message, MSG_NOSIGNAL);
}

// Accepts one connection a round, reads a request and sends an answer, until the answers are used
// up.
class HostileDaemon {
 public:
  HostileDaemon() : path_("/tmp/gacer-fuzz-" + std::to_string(getpid()) + ".sock") {
    listener_ = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    unlink(path_.c_str());
    require(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                listen(listener_.get(), 4) == 0,
            "listens");
    thread_ = std::thread([this] { loop(); });
  }
  ~HostileDaemon() {
    answers_ = nullptr;
    begin_.release();
    thread_.join();
    unlink(path_.c_str());
  }
  HostileDaemon(const HostileDaemon&) = delete;
  HostileDaemon& operator=(const HostileDaemon&) = delete;

  const std::string& path() const { return path_; }
  template <typename Client>
  void serve(const std::vector<Answer>& answers, const Client& client) {
    answers_ = &answers;
    begin_.release();
    client();
    done_.acquire();
  }

 private:
  void loop() {
    for (;;) {
      begin_.acquire();
      if (answers_ == nullptr) return;
      const UniqueFd peer(accept(listener_.get(), nullptr, nullptr));
      for (const Answer& answer : *answers_) {
        char request[1024];
        if (recv(peer.get(), request, sizeof request, 0) <= 0) break;
        send_answer(peer.get(), answer);
      }
      done_.release();
    }
  }

  std::string path_;
  UniqueFd listener_;
  const std::vector<Answer>* answers_ = nullptr;
  std::binary_semaphore begin_{0};
  std::binary_semaphore done_{0};
  std::thread thread_;
};

void tenant(const std::string& path) {
  auto attachment = shm::attach(path, shm::make_hello(), kTimeoutMs);
  if (!attachment.ok()) {
    require(!attachment.error().message.empty(), "an error has a line");
    return;
  }
  require(attachment->segment().header.version == abi::kAbiVersion, "a segment that fits");
  require(attachment->board().version == abi::kAbiVersion, "a board that fits");
  for (int i = 0; i < 3; ++i)
    if (!shm::reserve_memory(attachment->socket.get(), 4096).ok()) return;
}

void tool(const std::string& path) {
  try {
    tools::ControlClient client(path);
    client.request("status");
    client.request("status");
  } catch (const tools::ToolError&) {
  }
}

void run(Input input) {
  static HostileDaemon daemon;
  const bool as_tool = input.value<uint8_t>() % 4 == 0;
  std::vector<Answer> answers;
  while (!input.empty() && answers.size() < 4) answers.push_back(next_answer(input));
  daemon.serve(answers, [&] { as_tool ? tool(daemon.path()) : tenant(daemon.path()); });
}

}  // namespace
}  // namespace gacer::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gacer::set_log_level(gacer::LogLevel::kError);
  gacer::fuzz::run(gacer::fuzz::Input(data, size));
  return 0;
}
