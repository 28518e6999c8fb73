// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/client_page.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace gacer::simdevice {
namespace {

// The waiter raises `waiters` by a read-modify-write, looks at the value again and only then
// sleeps. Reading `waiters` by one too puts the two in one order: either ours comes first and the
// waiter sees the value stored before it, or we see the waiter. No fence: the thread sanitizer
// knows none.
void wake(std::atomic<uint32_t>& waiters, std::atomic<uint32_t>& futex) {
  if (waiters.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  futex.fetch_add(1, std::memory_order_release);  // pairs with the waiter's acquire load of `futex`
  ::syscall(SYS_futex, &futex, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Result<ClientPageOwner> ClientPageOwner::create() {
  UniqueFd fd(::memfd_create("simgpu-client", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), sizeof(ClientPage)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Error{errno, std::string("cannot make a client page: ") + std::strerror(errno)};
  void* memory =
      ::mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED)
    return Error{errno, std::string("cannot map a client page: ") + std::strerror(errno)};
  auto* page = static_cast<ClientPage*>(memory);
  page->magic = kSimMagic;
  page->version = kSimVersion;
  page->alive.store(1, std::memory_order_release);  // pairs with the client's acquire load
  return ClientPageOwner(std::move(fd), page);
}

ClientPageOwner::ClientPageOwner(ClientPageOwner&& other) noexcept
    : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}

ClientPageOwner::~ClientPageOwner() {
  if (page_ == nullptr) return;
  page_->alive.store(0, std::memory_order_release);  // pairs with the client's acquire load
  for (ClientStream& stream : page_->streams) wake(stream.waiters, stream.futex);
  for (ClientEvent& event : page_->events) wake(event.waiters, event.futex);
  ::munmap(page_, sizeof(ClientPage));
}

void ClientPageOwner::stream_completed(uint32_t stream, uint64_t seq) {
  ClientStream& slot = page_->streams[stream];
  // What a destroyed stream still had queued may end after operations of the next owner of the
  // slot.
  if (seq <= slot.completed_seq.load(std::memory_order_relaxed)) return;
  slot.completed_seq.store(seq, std::memory_order_release);  // pairs with the client's acquire load
  wake(slot.waiters, slot.futex);
}

void ClientPageOwner::record_completed(uint32_t event, uint64_t generation, uint64_t device_ns,
                                       uint32_t stream, uint64_t seq) {
  ClientEvent& slot = page_->events[event];
  slot.device_ns.store(device_ns,
                       std::memory_order_release);  // before the generation that names it
  slot.completed_generation.store(generation,
                                  std::memory_order_release);  // pairs with acquire load
  // Both words before the wake, which may cost this thread its core: who waited for the event must
  // find the stream done too.
  stream_completed(stream, seq);
  wake(slot.waiters, slot.futex);
}

void ClientPageOwner::set_sticky_error(int cuda_error, std::string_view text) {
  if (page_->sticky_error.load(std::memory_order_relaxed) != 0) return;
  const size_t length = std::min(text.size(), sizeof page_->error_text - 1);
  std::memcpy(page_->error_text, text.data(), length);
  page_->error_text[length] = '\0';
  // Pairs with the client's acquire load: text first.
  page_->sticky_error.store(static_cast<uint32_t>(cuda_error), std::memory_order_release);
}

void ClientPageOwner::set_device_ns(uint64_t device_ns) {
  page_->device_ns.store(device_ns,
                         std::memory_order_release);  // pairs with the client's acquire load
}

}  // namespace gacer::simdevice
