// SPDX-License-Identifier: Apache-2.0
#include "interpose/session.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#include "interpose/coverage.h"
#include "interpose/driver.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/shm/tenant_channel.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint64_t kMaxCheckInterval = 256;
constexpr uint64_t kCheckOftenNs = 5'000'000;
constexpr uint64_t kCheckSeldomNs = 20'000'000;
constexpr int kHighFd = 512;  // programs expect small numbers for what they open

uint64_t coarse_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<uint64_t>(now.tv_nsec);
}

// The host's errno is not ours to change, and its threads must not be cancelled while they hold our
// locks.
class KeepHost {
 public:
  KeepHost() : errno_(errno) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_); }
  ~KeepHost() {
    pthread_setcancelstate(cancel_state_, nullptr);
    errno = errno_;
  }
  KeepHost(const KeepHost&) = delete;
  KeepHost& operator=(const KeepHost&) = delete;

 private:
  int errno_;
  int cancel_state_ = PTHREAD_CANCEL_ENABLE;
};

uint32_t attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  const CUresult result = driver().cuDeviceGetAttribute(&value, which, device);
  return result == CUDA_SUCCESS && value > 0 ? static_cast<uint32_t>(value) : 0;
}

void move_out_of_the_way(UniqueFd& socket) {
  const int high = fcntl(socket.get(), F_DUPFD_CLOEXEC, kHighFd);
  if (high >= 0) socket.reset(high);
}

// Of a descriptor or path; 0: there is none.
uint64_t inode_of(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}
uint64_t inode_of(const char* path) {
  struct stat info {};
  return stat(path, &info) == 0 ? info.st_ino : 0;
}

// A host without a standard error may have given its number to a file or connection of its own. One
// that was inherited cannot be close-on-exec.
bool stderr_is_for_messages() {
  const int flags = fcntl(STDERR_FILENO, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

// A host that closes descriptors it does not know may have reused our number.
bool still_ours(const Attachment& attachment) {
  return attachment.socket >= 0 && inode_of(attachment.socket) == attachment.socket_inode;
}

bool is_retryable(int code) {
  return code == ENOENT || code == ECONNREFUSED || code == ECONNRESET;
}

}  // namespace

constinit FastPath gacer_fast_path;

Attachment* Session::ensure() {
  Attachment* attachment = current();
  if (attachment != nullptr) return attachment;
  if (!claim_process()) return nullptr;
  const uint64_t now_ns = coarse_now_ns();
  if (now_ns < next_attempt_ns_.load(kRelaxed) || !attach_lock_.try_lock()) return nullptr;
  attaching_since_ns_.store(now_ns, std::memory_order_release);  // pairs with await_attach()
  if (current() == nullptr) try_attach(now_ns);
  attaching_since_ns_.store(0, std::memory_order_release);  // pairs with await_attach()
  attach_lock_.unlock();
  return current();
}

Attachment* Session::await_attach() {
  // Pairs with the releases in ensure().
  uint64_t since_ns = attaching_since_ns_.load(std::memory_order_acquire);
  if (since_ns == 0) return current();
  const KeepHost keep;
  while (since_ns != 0 && coarse_now_ns() < since_ns + kAttachPatienceNs) {
    const timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
    since_ns = attaching_since_ns_.load(std::memory_order_acquire);
  }
  return current();
}

// False: another thread is at it.
bool Session::claim_process() {
  std::atomic<uint32_t>& claim = gacer_fast_path.claim;
  uint32_t seen = claim.load(std::memory_order_acquire);  // pairs with the release below
  if (seen == static_cast<uint32_t>(Claim::kOurs)) return true;
  if (seen != static_cast<uint32_t>(Claim::kNobodys)) return false;
  if (!claim.compare_exchange_strong(seen, static_cast<uint32_t>(Claim::kUnderWay), kRelaxed))
    return false;
  const KeepHost keep;
  // Prepared, and yet the page is zero: a child that the C library knows nothing of.
  const bool raw_child = prepared_for_forks_;
  if (!raw_child) prepare_for_forks();
  auto* const handler = fork_handler_.load(kRelaxed);
  if (raw_child && handler != nullptr) handler();
  claim.store(static_cast<uint32_t>(Claim::kOurs), std::memory_order_release);  // pairs with above
  return true;
}

void Session::prepare_for_forks() {
  prepared_for_forks_ = true;
  // Before Linux 4.14 only children of fork() are recognised.
  madvise(&gacer_fast_path, sizeof gacer_fast_path, MADV_WIPEONFORK);
  auto* const handler = fork_handler_.load(kRelaxed);
  if (handler != nullptr) pthread_atfork(nullptr, nullptr, handler);
}

void Session::read_config() {
  char executable[256] = {};
  [[maybe_unused]] const ssize_t length =
      readlink("/proc/self/exe", executable, sizeof executable - 1);
  char warning[256];
  const ProcessFacts process{executable, getpid(), geteuid(), inode_of("/proc/self/ns/pid")};
  config_ = read_tenant_config([](const char* name) -> const char* { return getenv(name); },
                               process, warning, sizeof warning);
  config_read_.store(true, std::memory_order_release);  // pairs with config()
  if (warning[0] != '\0') warn_once(warning);
}

const TenantConfig& Session::config() {
  if (!config_read_.load(std::memory_order_acquire)) {  // pairs with read_config()
    const SleepGuard guard(request_lock_);
    if (!config_read_.load(kRelaxed)) read_config();
  }
  return config_;
}

bool Session::read_device(abi::HelloMessage& hello) {
  const DriverTable& real = driver();
  CUdevice device = 0;
  if (real.cuCtxGetDevice(&device) != CUDA_SUCCESS && real.cuDeviceGet(&device, 0) != CUDA_SUCCESS)
    return false;
  hello.sm_count = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  hello.threads_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  hello.regs_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  hello.smem_per_sm_bytes =
      attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  hello.blocks_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  size_t bytes = 0;
  if (real.cuDeviceTotalMem_v2(&bytes, device) == CUDA_SUCCESS) hello.device_memory_bytes = bytes;
  CUuuid uuid{};
  if (real.cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS)
    memcpy(hello.device_uuid, uuid.bytes, sizeof hello.device_uuid);
  device_word_.store(uint64_t{hello.threads_per_sm} << 32 | hello.sm_count, kRelaxed);
  hello_device_ = device >= 0 ? std::min<uint32_t>(device, kMemoryDevices - 1) : 0;
  hello.memory_in_use_bytes = memory_in_use_[hello_device_].load(kRelaxed);
  return true;
}

void Session::try_attach(uint64_t now_ns) {
  const KeepHost keep;
  next_attempt_ns_.store(now_ns + kAttachRetryNs, kRelaxed);
  const TenantConfig& mine = config();
  if (access(mine.socket_path, F_OK) != 0 && !mine.socket_was_named) return;
  try {
    abi::HelloMessage hello = shm::make_hello();
    hello.memory_limit_bytes = mine.memory_limit_bytes;
    hello.tenant_class = static_cast<uint32_t>(mine.tenant_class);
    hello.weight = mine.weight;
    hello.priority = mine.priority;
    memcpy(hello.tenant, mine.tenant, sizeof hello.tenant);
    if (read_device(hello)) connect(hello);
  } catch (...) {  // out of memory: unregulated is all that is left
    warn_once("out of memory while attaching to gacerd; launches are not regulated");
  }
}

void Session::connect(const abi::HelloMessage& hello) {
  Result<shm::Attachment> answer = shm::attach(config_.socket_path, hello, kAttachTimeoutMs);
  if (answer.ok()) return put_in_force(*answer, hello);
  next_attempt_ns_.store(coarse_now_ns() + retry_delay_ns(answer.error().code), kRelaxed);
  warn_once((answer.error().message + "; launches are not regulated").c_str());
}

uint64_t Session::retry_delay_ns(int code) {
  if (code == EAGAIN || code == EINTR) {  // each attempt costs its thread the time-out
    const uint32_t doublings = std::min(busy_answers_++, 8U);
    return std::min(kAttachRetryWhenBusyNs << doublings, kAttachRetryLongestNs);
  }
  busy_answers_ = 0;
  return is_retryable(code) ? kAttachRetryNs : kAttachRetryAfterRefusalNs;
}

void Session::put_in_force(shm::Attachment& answer, const abi::HelloMessage& hello) {
  busy_answers_ = 0;
  attachments_.fetch_add(1, kRelaxed);
  auto* kept = new shm::Attachment(std::move(answer));
  move_out_of_the_way(kept->socket);
  auto* attachment = new Attachment(kept->segment(), &kept->board(), kept->socket.release());
  attachment->segment.progress.memory_bytes.store(memory_in_use_of_all(), kRelaxed);
  attachment->mappings = kept;
  attachment->previous = newest_;
  newest_ = attachment;
  attachment->memory_told_bytes = hello.memory_in_use_bytes;
  attachment->memory_told_device = hello_device_;
  attachment->socket_inode = inode_of(attachment->socket);
  move_coverage_to(*attachment);
  publish(attachment);
  if (attachment->previous != nullptr) retire_mappings(*attachment->previous);
}

void Session::publish(Attachment* attachment) {
  gacer_fast_path.lone_seq.store(FastPath::kNever, kRelaxed);
  gacer_fast_path.next_check.store(0, kRelaxed);
  check_interval_.store(1, kRelaxed);
  gacer_fast_path.current.store(attachment, std::memory_order_release);  // pairs with current()
  abi::Segment* segment = attachment != nullptr ? &attachment->segment : nullptr;
  gacer_fast_path.segment.store(segment, std::memory_order_release);  // pairs with lone_launch()
}

void Session::detach(Attachment& attachment) {
  const SleepGuard guard(request_lock_);
  if (current() != &attachment) return;
  publish(nullptr);
  const bool many = attachments_.load(kRelaxed) >= kAttachmentsAtOnce;
  const uint64_t delay_ns = many ? kAttachRetryAfterManyNs : kAttachRetryNs;
  next_attempt_ns_.store(coarse_now_ns() + delay_ns, kRelaxed);
  if (still_ours(attachment)) ::close(attachment.socket);
}

bool Session::socket_gone(const Attachment& attachment) const {
  if (attachment.socket < 0) return false;
  const KeepHost keep;
  if (!still_ours(attachment)) return true;
  pollfd ask{attachment.socket, POLLRDHUP, 0};
  return poll(&ask, 1, 0) > 0;
}

bool Session::daemon_gone(Attachment& attachment) {
  if (current() != &attachment) return true;
  if (socket_gone(attachment)) {
    detach(attachment);
    return true;
  }
  if (attachment.board == nullptr) return false;
  const uint64_t beat_ns = attachment.board->heartbeat_ns.load(kRelaxed);
  const uint64_t now_ns = monotonic_now_ns();
  const bool silent = now_ns > beat_ns && now_ns - beat_ns > abi::kHeartbeatStaleNs;
  attachment.daemon_silent.store(silent, kRelaxed);
  return silent;
}

void Session::check_daemon(Attachment& attachment, uint64_t launches) {
  const uint64_t now_ns = monotonic_now_ns();
  const uint64_t since_ns = now_ns - last_check_ns_.exchange(now_ns, kRelaxed);
  uint64_t interval = check_interval_.load(kRelaxed);
  if (since_ns < kCheckOftenNs) interval = std::min(interval * 2, kMaxCheckInterval);
  if (since_ns > kCheckSeldomNs)
    interval = std::max<uint64_t>(interval * kCheckSeldomNs / since_ns, 1);
  check_interval_.store(interval, kRelaxed);
  clock_.synchronise();
  refresh_coverage(attachment);
  gacer_fast_path.next_check.store(launches + interval, kRelaxed);
  if (attachment.board == nullptr) return;
  const uint64_t beat_ns = attachment.board->heartbeat_ns.load(kRelaxed);
  const bool doubtful = now_ns > beat_ns && now_ns - beat_ns > kHeartbeatDoubtNs;
  if (doubtful || attachment.daemon_silent.load(kRelaxed)) daemon_gone(attachment);
}

bool Session::reserve_memory(Attachment& attachment, const MemoryRequest& request,
                             MemoryReply& reply) {
  const KeepHost keep;
  bool answered = false;
  {
    const SleepGuard guard(request_lock_);
    if (current() != &attachment || !still_ours(attachment)) return false;
    const Result<shm::MemoryGrant> answer =
        shm::reserve_memory(attachment.socket, request.bytes, request.device, request.kind);
    answered = answer.ok();
    if (answered)
      reply = {answer->granted, answer->tenant_used_bytes, answer->tenant_limit_bytes,
               answer->tenant_overhead_bytes};
  }
  if (!answered) detach(attachment);
  return answered;
}

void Session::release_memory(Attachment& attachment, const MemoryRequest& request) {
  const KeepHost keep;
  bool sent = false;
  {
    const SleepGuard guard(request_lock_);
    if (current() != &attachment || !still_ours(attachment)) return;
    sent = shm::release_memory(attachment.socket, request.bytes, request.device, request.kind).ok();
  }
  if (!sent) detach(attachment);
}

uint64_t Session::memory_in_use_of_all() const {
  uint64_t sum = 0;
  for (const auto& bytes : memory_in_use_) sum += bytes.load(kRelaxed);
  return sum;
}

void Session::warn_once(const char* text) {
  const LogLevel level = warned_.exchange(true, kRelaxed) ? LogLevel::kInfo : LogLevel::kWarn;
  if (level <= log_level() && stderr_is_for_messages()) log_line(level, "gacer", "%s", text);
}

void Session::keep_in_sight(Attachment* parents) {
  if (parents == nullptr) return;
  Attachment* oldest = parents;
  while (oldest->previous != nullptr) oldest = oldest->previous;
  oldest->previous = inherited_;
  inherited_ = parents;
}

void Session::after_fork_in_child() {
  publish(nullptr);
  Attachment* parents = newest_;
  newest_ = nullptr;
  keep_in_sight(parents);
  // Left open, the child would hide the parent's end from the daemon. Older ones are closed.
  if (parents != nullptr && still_ours(*parents)) ::close(parents->socket);
  if (parents != nullptr) leave_to_parent(*parents);
  attach_lock_.unlock();
  attaching_since_ns_.store(0, kRelaxed);
  request_lock_.force_open();
  next_attempt_ns_.store(0, kRelaxed);
  for (auto& bytes : memory_in_use_) bytes.store(0, kRelaxed);
  config_read_.store(false, kRelaxed);
  attachments_.store(0, kRelaxed);
  busy_answers_ = 0;
  const Claim claim = prepared_for_forks_ ? Claim::kOurs : Claim::kNobodys;
  gacer_fast_path.claim.store(static_cast<uint32_t>(claim),
                              std::memory_order_release);  // claim_process()
}

}  // namespace gacer::interpose
