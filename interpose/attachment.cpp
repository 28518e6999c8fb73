// SPDX-License-Identifier: Apache-2.0
#include "interpose/attachment.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace gacer::interpose {
namespace {

// One step for other threads: they see the old page or a zero one, never none. On failure the old
// mapping stays, which costs memory only.
void put_zeros_in_place(const void* start, size_t bytes, int protection) {
  (void)mmap(const_cast<void*>(start), bytes, protection,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void forget_board(const Attachment& attachment) {
  if (attachment.board != nullptr)
    put_zeros_in_place(attachment.board, sizeof(abi::Board), PROT_READ);
}

}  // namespace

size_t gpu_visible_bytes() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  // Nothing behind the stream slots is the GPU's business.
  return (offsetof(abi::Segment, costs) + page - 1) / page * page;
}

void retire_mappings(Attachment& attachment) {
  if (attachment.mappings == nullptr) return;
  const SpinGuard guard(attachment.registration_lock);
  const bool registered = attachment.way.load(std::memory_order_relaxed) != CompletionWay::kUnknown;
  const size_t kept = registered ? gpu_visible_bytes() : 0;
  char* start = reinterpret_cast<char*>(&attachment.segment) + kept;
  const size_t bytes = sizeof(abi::Segment) - kept;
  // The kept pages hold the file, and the file its other pages.
  madvise(start, bytes, MADV_REMOVE);
  put_zeros_in_place(start, bytes, PROT_READ | PROT_WRITE);
  forget_board(attachment);
}

void leave_to_parent(Attachment& attachment) {
  if (attachment.mappings == nullptr) return;
  put_zeros_in_place(&attachment.segment, sizeof(abi::Segment), PROT_READ | PROT_WRITE);
  forget_board(attachment);
}

}  // namespace gacer::interpose
