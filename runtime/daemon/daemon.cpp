// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"

namespace gacer::daemon {
namespace {

// Epoll keys: 0 listener, 1 stop; then two for each session.
constexpr uint64_t kListenerKey = 0;
constexpr uint64_t kStopKey = 1;
uint64_t socket_key(uint64_t session) {
  return session * 2;
}
uint64_t pidfd_key(uint64_t session) {
  return session * 2 + 1;
}

constexpr int kAcceptsPerTurn = 64;
constexpr size_t kMaxSessions = 4096;
// A peer that connects and says nothing is dropped after this.
constexpr uint64_t kSilenceNs = 5'000'000'000;
constexpr int kSendBufferBytes = 2 * static_cast<int>(abi::kMaxAdminBytes);

UniqueFd open_spare() {
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::create(const std::string& socket_path,
                                               std::unique_ptr<regulator::Regulator> core) {
  auto control = ControlSocket::open(socket_path);
  if (!control) return control.error();
  auto epoll = EpollSet::create();
  if (!epoll) return epoll.error();
  auto table = TenantTable::create(std::move(core));
  if (!table) return table.error();
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(control).value(), std::move(epoll).value(),
                                            std::move(table).value(), monotonic_now_ns()));
  if (const Status started = daemon->start(); !started) return started.error();
  return daemon;
}

Daemon::Daemon(ControlSocket control, EpollSet epoll, std::unique_ptr<TenantTable> table,
               uint64_t now_ns)
    : control_(std::move(control)),
      epoll_(std::move(epoll)),
      table_(std::move(table)),
      spare_fd_(open_spare()),
      started_ns_(now_ns) {}

Status Daemon::start() {
  stop_event_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_event_.valid()) return Error{errno, std::string("eventfd: ") + strerror(errno)};
  if (Status added = epoll_.add(stop_event_.get(), kStopKey); !added) return added;
  return epoll_.add(control_->fd(), kListenerKey);
}

void Daemon::request_stop() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_event_.get(), &one, sizeof one);
}

void Daemon::run() {
  // The kernel may otherwise delay a 100 us wait by 50 us to merge timers.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  std::vector<uint64_t> ready;
  while (!stopping_) {
    epoll_.wait(next_deadline_ns(), ready);
    const uint64_t now_ns = monotonic_now_ns();
    for (const uint64_t key : ready) dispatch(key, now_ns);
    if (now_ns >= table_->next_tick_ns()) table_->tick(now_ns);
    drop_silent(now_ns);
  }
  table_->detach_all(monotonic_now_ns());
  control_.reset();
  sessions_.clear();
}

uint64_t Daemon::next_deadline_ns() const {
  uint64_t deadline_ns = table_->next_tick_ns();
  for (const uint64_t id : new_sessions_)
    if (still_new(id))
      deadline_ns = std::min(deadline_ns, sessions_.at(id).session->since_ns() + kSilenceNs);
  return deadline_ns;
}

bool Daemon::still_new(uint64_t id) const {
  const auto found = sessions_.find(id);
  return found != sessions_.end() && found->second.session->is_new();
}

DaemonFacts Daemon::facts(uint64_t now_ns) const {
  return DaemonFacts{control_->path(), now_ns - started_ns_};
}

void Daemon::dispatch(uint64_t key, uint64_t now_ns) {
  if (key == kListenerKey) return accept_waiting(now_ns);
  if (key == kStopKey) {
    stopping_ = true;
    return;
  }
  const uint64_t id = key / 2;
  const auto found = sessions_.find(id);
  if (const auto survivor = survivors_.find(id);
      survivor != survivors_.end() && key == pidfd_key(id)) {
    table_->ended(survivor->second.process_id);
    survivors_.erase(survivor);
  }
  if (found == sessions_.end()) return;  // dropped earlier in this round
  if (key == pidfd_key(id)) return drop(id, now_ns);
  const Session::Next next = found->second.session->on_readable(facts(now_ns), now_ns);
  stopping_ |= next == Session::Next::kShutdown;
  if (next == Session::Next::kClose) lost_socket(id, now_ns);
}

// A pidfd is readable once its process has ended.
bool Daemon::lives_on(const Entry& entry) const {
  pollfd ask{entry.pidfd.get(), POLLIN, 0};
  return entry.pidfd.valid() && poll(&ask, 1, 0) == 0;
}

// Its process may be ending, or its host may have closed descriptors that it does not know: device
// memory is there until the process has gone.
void Daemon::lost_socket(uint64_t id, uint64_t now_ns) {
  Entry& entry = sessions_.at(id);
  const uint64_t process_id = entry.session->process_id();
  if (process_id == 0 || !lives_on(entry)) return drop(id, now_ns);
  entry.session->end(now_ns, true);
  survivors_[id] = {std::move(entry.pidfd), process_id};
  sessions_.erase(id);
}

void Daemon::accept_waiting(uint64_t now_ns) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    UniqueFd socket(accept4(control_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      add_session(std::move(socket), now_ns);
    } else if (errno == EMFILE || errno == ENFILE) {
      return refuse_for_lack_of_fds();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

// The connection must be taken out of the backlog or the listener would stay readable and the loop
// spin.
void Daemon::refuse_for_lack_of_fds() {
  log_line(LogLevel::kError, "gacerd", "out of file descriptors with %zu peers: raise ulimit -n",
           sessions_.size());
  spare_fd_.reset();
  const int refused = accept4(control_->fd(), nullptr, nullptr, SOCK_CLOEXEC);
  if (refused >= 0) close(refused);
  spare_fd_ = open_spare();
}

void Daemon::add_session(UniqueFd socket, uint64_t now_ns) {
  const auto peer = shm::peer_identity(socket.get());
  if (!peer || sessions_.size() >= kMaxSessions) return;
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  const uint64_t id = next_session_id_++;
  Entry entry;
  entry.pidfd = shm::open_peer_pidfd(socket.get(), peer->pid);
  if (!epoll_.add(socket.get(), socket_key(id))) return;
  // Without a pidfd the end of the socket is what tells of the peer's end.
  if (entry.pidfd.valid() && !epoll_.add(entry.pidfd.get(), pidfd_key(id))) entry.pidfd.reset();
  entry.session = std::make_unique<Session>(std::move(socket), *peer, *table_, now_ns);
  entry.session->before_refusal([this, id] { settle_releases(id); });
  sessions_[id] = std::move(entry);
  new_sessions_.push_back(id);
}

void Daemon::settle_releases(uint64_t asking) {
  for (auto& [id, entry] : sessions_)
    if (id != asking) entry.session->take_releases();
}

void Daemon::drop(uint64_t id, uint64_t now_ns) {
  const auto found = sessions_.find(id);
  found->second.session->end(now_ns);
  sessions_.erase(found);
}

void Daemon::drop_silent(uint64_t now_ns) {
  std::erase_if(new_sessions_, [&](uint64_t id) {
    if (!still_new(id)) return true;
    const bool silent = now_ns - sessions_.at(id).session->since_ns() >= kSilenceNs;
    if (silent) sessions_.erase(id);
    return silent;
  });
}

}  // namespace gacer::daemon
