// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/server.h"

#include <cuda.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/simdevice/mps/mps_socket.h"
#include "runtime/simdevice/server/mps_clients.h"

namespace gacer::simdevice {
namespace {

constexpr int kEvents = 64;
constexpr int kMessagesPerTurn = 256;  // of one client, before others and the model get their turn
constexpr uint64_t kWaitPollNs = 50'000;
constexpr uint64_t kIdleTickNs = 20'000'000;
constexpr uint64_t kSampleEveryNs = 200'000;  // model time between samples of the SM share
constexpr uint64_t kTimelineEveryNs = 1'000'000'000;
constexpr const char* kWho = "simgpu-server";

void watch(int epoll_fd, int fd, int operation, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(epoll_fd, operation, fd, &event);
}

UniqueFd open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
  // Before any thread is made, so that all inherit it.
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

unsigned thread_count(const ServerOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1U, std::thread::hardware_concurrency());
}

Result<std::vector<DeviceMemory>> make_memory(const ServerOptions& options) {
  std::vector<DeviceMemory> all;
  for (uint32_t i = 0; i < options.devices; ++i) {
    auto memory = DeviceMemory::create(options.device->spec.memory_bytes, i);
    if (!memory) return memory.error();
    all.push_back(std::move(*memory));
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::create(const ServerOptions& options) {
  auto listener = Listener::open(options.socket_path);
  if (!listener) return listener.error();
  auto memory = make_memory(options);
  if (!memory) return memory.error();
  auto shares = ShareRegistry::create();
  if (!shares) return shares.error();
  UniqueFd signals = open_signals();
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid() || !signals.valid())
    return Error{errno, std::string("cannot make epoll or signalfd: ") + std::strerror(errno)};
  return std::unique_ptr<Server>(new Server(options, std::move(*memory), std::move(*shares),
                                            std::move(*listener), std::move(epoll),
                                            std::move(signals)));
}

Server::Server(const ServerOptions& options, std::vector<DeviceMemory> memory, ShareRegistry shares,
               Listener listener, UniqueFd epoll, UniqueFd signals)
    : options_(options),
      clock_(real_clock_, options.time_scale),
      memory_(std::move(memory)),
      shares_(std::move(shares)),
      timeline_(options.timeline_path),
      runner_(*options.device, options.exec, thread_count(options), options.block_budget),
      executor_(runner_, clock_, timeline_),
      handler_(*options.device, memory_, engines_, shares_, executor_, clock_, timeline_, clients_),
      listener_(std::move(listener)),
      epoll_(std::move(epoll)),
      signals_(std::move(signals)),
      idle_since_ns_(real_clock_.now_ns()) {
  if (options_.costs.size() > 0) runner_.set_costs(&options_.costs);
  for (uint32_t i = 0; i < options.devices; ++i) engines_.emplace_back(*options.device, executor_);
  watch(epoll_.get(), listener_.fd(), EPOLL_CTL_ADD, EPOLLIN);
  watch(epoll_.get(), shares_.fd(), EPOLL_CTL_ADD, EPOLLIN);
  watch(epoll_.get(), signals_.get(), EPOLL_CTL_ADD, EPOLLIN);
}

Server::~Server() = default;

int Server::run() {
  while (!stop_ && !linger_over()) {
    wait_for_work();
    advance();
    drop_doomed();
    pause_or_resume_reading();
  }
  write_timeline();
  return 0;
}

uint64_t Server::next_event_ns() const {
  uint64_t next = UINT64_MAX;
  for (const Engine& engine : engines_) next = std::min(next, engine.next_event_ns());
  return next;
}

size_t Server::pending_ops(const Client& client) const {
  size_t pending = 0;
  for (size_t i = 0; i < client.engine_clients.size(); ++i)
    pending += engines_[i].pending_ops(client.engine_clients[i]);
  return pending;
}

uint64_t Server::sleep_ns() const {
  uint64_t sleep = clock_.real_ns_until(next_event_ns());
  if (executor_.has_waits()) sleep = std::min(sleep, kWaitPollNs);
  if (nobody_uses()) sleep = std::min(sleep, kIdleTickNs);
  return sleep;
}

void Server::wait_for_work() {
  epoll_event events[kEvents];
  const uint64_t sleep = sleep_ns();
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(std::min<uint64_t>(sleep / 1'000'000'000, 3600));
  limit.tv_nsec = static_cast<long>(sleep % 1'000'000'000);
  const int ready = ::epoll_pwait2(epoll_.get(), events, kEvents, &limit, nullptr);
  for (int i = 0; i < ready; ++i) handle_ready(events[i].data.fd, events[i].events);
}

void Server::handle_ready(int fd, uint32_t events) {
  if (fd == listener_.fd()) return accept_clients();
  if (fd == signals_.get()) return handle_signal();
  if (fd == shares_.fd()) return shares_.collect();
  const auto client = clients_.find(fd);
  if (client == clients_.end()) return;
  if (client->second->paused) {
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) doomed_.push_back(fd);
    return;
  }
  read_client(*client->second);
}

void Server::handle_signal() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGUSR1) {
      write_timeline();
    } else if (info.ssi_signo == SIGUSR2) {
      terminate_mps_client(info.ssi_int);
    } else {
      stop_ = true;
    }
  }
}

// The control daemon's terminate_client; a signal without a client's pid means nothing.
void Server::terminate_mps_client(pid_t pid) {
  for (const auto& [fd, client] : clients_)
    if (client->known() && client->mps && client->pid == pid)
      executor_.fail(*client, CUDA_ERROR_MPS_CLIENT_TERMINATED,
                     "terminated by the MPS control daemon");
}

void Server::contain_mps_faults() {
  const bool fault = spread_mps_faults(clients_, executor_, static_cast<uint32_t>(engines_.size()));
  if (fault == mps_fault_) return;
  mps_fault_ = fault;
  mps_notify(mps_pipe_directory(),
             "server_status " + std::to_string(::getpid()) + (fault ? " FAULT" : " ACTIVE"));
}

void Server::accept_clients() {
  for (UniqueFd socket = listener_.accept(); socket.valid(); socket = listener_.accept())
    admit(std::move(socket));
}

void Server::admit(UniqueFd socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return;
  auto page = ClientPageOwner::create();
  if (!page) {
    log_line(LogLevel::kError, kWho, "%s", page.error().message.c_str());
    return;
  }
  const int fd = socket.get();
  watch(epoll_.get(), fd, EPOLL_CTL_ADD, EPOLLIN);
  clients_[fd] = std::make_unique<Client>(std::move(socket), peer.pid, std::move(*page), memory_);
}

void Server::read_client(Client& client) {
  const int fd = client.socket.get();
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    switch (receive_packet(fd, *packet_)) {
      case Received::kNothing:
        return;
      case Received::kClosed:
        doomed_.push_back(fd);
        return;
      case Received::kBroken:
        log_line(LogLevel::kWarn, kWho,
                 "pid %d disconnected: packet too long or with too many descriptors",
                 static_cast<int>(client.pid));
        doomed_.push_back(fd);
        return;
      case Received::kPacket:
        break;
    }
    const std::string problem = handler_.handle(client, *packet_);
    if (!problem.empty()) {
      log_line(LogLevel::kWarn, kWho, "pid %d disconnected: %s", static_cast<int>(client.pid),
               problem.c_str());
      doomed_.push_back(fd);
      return;
    }
    if (pending_ops(client) > kSimMaxPendingOps && client.externals == 0) return;
  }
}

void Server::drop_doomed() {
  for (const int fd : doomed_) {
    const auto found = clients_.find(fd);
    if (found == clients_.end()) continue;
    Client& client = *found->second;
    const bool observer = client.observer;
    const ClockPause pause(clock_);
    for (size_t i = 0; i < client.engine_clients.size(); ++i)
      engines_[i].remove_client(client.engine_clients[i], clock_.now_ns());
    executor_.forget_client(client);
    tell_mps_left(client);
    watch(epoll_.get(), fd, EPOLL_CTL_DEL, 0);
    clients_.erase(found);
    if (!observer && nobody_uses()) idle_since_ns_ = real_clock_.now_ns();
  }
  const bool dropped = !doomed_.empty();
  doomed_.clear();
  const uint64_t now_ns = real_clock_.now_ns();
  if (dropped && (nobody_uses() || now_ns - timeline_written_ns_ > kTimelineEveryNs))
    write_timeline();
}

void Server::pause_or_resume_reading() {
  for (auto& [fd, client] : clients_) {
    const size_t pending = pending_ops(*client);
    const bool full = client->externals == 0 &&
                      pending > (client->paused ? kSimMaxPendingOps / 2 : kSimMaxPendingOps);
    if (full == client->paused) continue;
    client->paused = full;
    watch(epoll_.get(), fd, EPOLL_CTL_MOD, full ? 0U : uint32_t{EPOLLIN});
  }
}

void Server::advance_engines() {
  for (Engine& engine : engines_) engine.advance_to(clock_.now_ns());
}

void Server::advance() {
  advance_engines();
  contain_mps_faults();
  if (executor_.device_lost())
    for (auto& [fd, client] : clients_)
      if (client->known()) executor_.fail(*client, CUDA_ERROR_DEVICE_UNAVAILABLE, kDeviceLost);
  if (executor_.has_waits()) {
    executor_.poll_waits(clock_.now_ns());
    advance_engines();
  }
  const uint64_t now_ns = clock_.now_ns();
  for (auto& [fd, client] : clients_) client->page.set_device_ns(now_ns);
  if (timeline_.enabled() && now_ns >= next_sample_ns_) sample_shares();
}

void Server::sample_shares() {
  const uint64_t now_ns = clock_.now_ns();
  next_sample_ns_ = now_ns + kSampleEveryNs;
  for (auto& [fd, client] : clients_) {
    if (client->engine_clients.empty()) continue;
    double share = 0;
    for (size_t i = 0; i < engines_.size(); ++i)
      share += engines_[i].sm_share(client->engine_clients[i]);
    timeline_.add_share(client->id(), now_ns, share / static_cast<double>(engines_.size()));
  }
}

void Server::write_timeline() {
  const ClockPause pause(clock_);
  timeline_written_ns_ = real_clock_.now_ns();
  if (const Status written = timeline_.write(); !written)
    log_line(LogLevel::kError, kWho, "%s", written.error().message.c_str());
}

bool Server::nobody_uses() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& entry) { return entry.second->observer; });
}

bool Server::linger_over() {
  if (!nobody_uses() || real_clock_.now_ns() - idle_since_ns_ < linger_ns()) return false;
  UniqueFd late;
  if (listener_.try_close(late)) return true;
  admit(std::move(late));
  return false;
}

}  // namespace gacer::simdevice
