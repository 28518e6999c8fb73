// SPDX-License-Identifier: Apache-2.0
// simgpu-ctl: steers a running simgpu-server, for tests of what programs do when a device fails.
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/simdevice/server/fault_rules.h"
#include "runtime/simdevice/server/packet_socket.h"
#include "runtime/simdevice/server_place.h"

namespace {

using namespace gacer::simdevice;

constexpr const char* kUsage =
    "usage: simgpu-ctl [--socket PATH] [--pid PID] fault RULE[,RULE...]\n"
    "       simgpu-ctl [--socket PATH] [--pid PID] clear\n"
    "A rule is WORD[:KERNEL][@N][=VALUE]: at the N-th launch (of KERNEL, 'name*': by its start), "
    "or at\n"
    "each one. Without --pid for every process. The same rules in SIMGPU_FAULT are a program's "
    "own.\n";
constexpr int kAnswerMs = 10'000;

struct Arguments {
  std::string socket = server_socket_path();
  uint32_t pid = kEveryProcess;
  std::string command;
  std::string rules;
};

bool parse(int argc, char** argv, Arguments& out) {
  int at = 1;
  for (; at + 1 < argc && std::strncmp(argv[at], "--", 2) == 0; at += 2) {
    if (std::strcmp(argv[at], "--socket") == 0) {
      out.socket = argv[at + 1];
    } else if (std::strcmp(argv[at], "--pid") == 0 && std::atoi(argv[at + 1]) > 0) {
      out.pid = static_cast<uint32_t>(std::atoi(argv[at + 1]));
    } else {
      return false;
    }
  }
  if (at < argc) out.command = argv[at++];
  if (at < argc) out.rules = argv[at++];
  const bool fault = out.command == "fault" && !out.rules.empty();
  return at == argc && (fault || (out.command == "clear" && out.rules.empty()));
}

template <typename M>
M make(SimType type, uint32_t request) {
  M message{};
  message.header = {kSimMagic, kSimVersion, static_cast<uint16_t>(type), sizeof message, request};
  return message;
}

// Sends and waits for the answer. False: none, or an error, which is printed.
template <typename M>
bool ask(int socket_fd, const M& message) {
  const auto packet = std::make_unique<Packet>();
  pollfd readable{socket_fd, POLLIN, 0};
  ReplyMsg reply{};
  const bool answered =
      send_packet(socket_fd, {reinterpret_cast<const uint8_t*>(&message), sizeof message}, -1) &&
      ::poll(&readable, 1, kAnswerMs) == 1 &&
      receive_packet(socket_fd, *packet) == Received::kPacket && packet->size == sizeof reply;
  if (!answered) {
    std::fputs("simgpu-ctl: the server does not answer\n", stderr);
    return false;
  }
  std::memcpy(&reply, packet->buffer.data(), sizeof reply);
  if (reply.error != 0)
    std::fprintf(stderr, "simgpu-ctl: %.*s\n", static_cast<int>(sizeof reply.text), reply.text);
  return reply.error == 0;
}

int run(const Arguments& arguments) {
  const auto socket = connect_socket(arguments.socket);
  if (!socket) {
    std::fprintf(stderr, "simgpu-ctl: no server at %s: %s\n", arguments.socket.c_str(),
                 socket.error().message.c_str());
    return 1;
  }
  auto message = make<FaultMsg>(SimType::kFault, 2);
  message.pid = arguments.pid;
  message.clear = arguments.command == "clear" ? 1 : 0;
  if (arguments.rules.size() >= sizeof message.rules) {
    std::fputs("simgpu-ctl: more rules than fit one message\n", stderr);
    return 2;
  }
  std::memcpy(message.rules, arguments.rules.data(), arguments.rules.size());
  const bool done =
      ask(socket->get(), make<ObserveMsg>(SimType::kObserve, 1)) && ask(socket->get(), message);
  return done ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (parse(argc, argv, arguments)) return run(arguments);
  const bool help = argc == 2 && std::strcmp(argv[1], "--help") == 0;
  std::fprintf(help ? stdout : stderr, "%swords:\n%s", kUsage, fault_help().c_str());
  return help ? 0 : 2;
}
