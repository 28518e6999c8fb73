// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/nvml/server_view.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/simdevice/server_place.h"

namespace gacer::simnvml {
namespace {

using namespace simdevice;

constexpr int kAnswerLimitMs = 5000;

template <typename M>
bool read_message(const std::vector<uint8_t>& bytes, SimType type, M& message) {
  if (bytes.size() < sizeof message) return false;
  memcpy(&message, bytes.data(), sizeof message);
  return message.header.type == static_cast<uint16_t>(type);
}

}  // namespace

bool ServerView::connected() {
  if (socket_.valid() && pid_ == getpid()) return true;
  return connect();
}

bool ServerView::connect() {
  auto socket = connect_socket(server_socket_path());
  if (!socket.ok()) {
    socket_.reset();
    return false;
  }
  socket_ = std::move(*socket);
  pid_ = getpid();
  ReplyMsg reply;
  if (!send(SimType::kObserve, 0) || !read_message(receive(), SimType::kReply, reply) ||
      reply.error != 0 || reply.value == 0 || reply.value > kMaxDevices) {
    socket_.reset();
    return false;
  }
  const size_t length = strnlen(reply.text, sizeof reply.text);
  devices_ = {std::string(reply.text, length), static_cast<uint32_t>(reply.value)};
  return true;
}

bool ServerView::send(SimType type, uint32_t device) {
  ObserveMsg message{};
  message.header = {kSimMagic, kSimVersion, static_cast<uint16_t>(type), sizeof message,
                    ++request_id_};
  message.device = device;
  return ::send(socket_.get(), &message, sizeof message, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof message);
}

std::vector<uint8_t> ServerView::receive() {
  std::vector<uint8_t> bytes(kMaxSimMessageBytes);
  pollfd state{socket_.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&state, 1, kAnswerLimitMs);
  } while (ready < 0 && errno == EINTR);
  const ssize_t got = ready > 0 ? ::recv(socket_.get(), bytes.data(), bytes.size(), 0) : 0;
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  SimHeader header{};
  if (bytes.size() < sizeof header) return {};
  memcpy(&header, bytes.data(), sizeof header);
  const bool ours = header.magic == kSimMagic && header.request_id == request_id_;
  return ours ? bytes : std::vector<uint8_t>();
}

std::optional<ServerView::Devices> ServerView::devices() {
  if (!connected()) return std::nullopt;
  return devices_;
}

std::optional<Figures> ServerView::ask_figures(uint32_t device) {
  if (!send(SimType::kFigures, device)) return std::nullopt;
  const std::vector<uint8_t> bytes = receive();
  Figures figures;
  if (!read_message(bytes, SimType::kFiguresReply, figures.device)) return std::nullopt;
  const size_t count = (bytes.size() - sizeof figures.device) / sizeof(ProcessFigures);
  if (figures.device.processes != count) return std::nullopt;
  figures.processes.resize(count);
  if (count > 0)
    memcpy(figures.processes.data(), bytes.data() + sizeof figures.device,
           count * sizeof(ProcessFigures));
  return figures;
}

std::optional<Figures> ServerView::figures(const std::string& key, uint32_t device) {
  // Twice: the server that was connected may have ended and another one begun.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!connected() || devices_.key != key || device >= devices_.count) return std::nullopt;
    if (auto figures = ask_figures(device)) return figures;
    socket_.reset();
  }
  return std::nullopt;
}

}  // namespace gacer::simnvml
