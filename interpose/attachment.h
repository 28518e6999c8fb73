// SPDX-License-Identifier: Apache-2.0
// One attachment to a daemon: the mapped segment and what belongs to it. Made by Session on
// attaching and never freed, since another thread or the GPU may still use it when a newer one has
// taken its place; retire_mappings() gives back what nobody needs to find in it.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/sole_launcher.h"
#include "interpose/stream_table.h"
#include "runtime/abi/segment_layout.h"

namespace gacer::interpose {

// How finished work gets into completed_cost_ns.
enum class CompletionWay : uint32_t {
  kUnknown,      // the segment has not been registered with the driver yet
  kStreamWrite,  // the stream writes the word
  kEvents,       // refused: events are recorded and polled
};

struct Attachment {
  Attachment(abi::Segment& mapped_segment, const abi::Board* mapped_board, int socket_fd)
      : segment(mapped_segment), board(mapped_board), socket(socket_fd), streams(mapped_segment) {}

  Attachment* previous = nullptr;  // older ones of this process, for a look in a debugger
  void* mappings = nullptr;        // owns segment and board; kept as long as this object

  abi::Segment& segment;
  const abi::Board* board;  // NULL in tests without a daemon
  const int socket;         // -1 in tests without a daemon
  uint64_t socket_inode = 0;
  uint64_t memory_told_bytes = 0;   // memory_in_use_bytes of its hello
  uint32_t memory_told_device = 0;  // on this one
  StreamTable streams;
  alignas(64) std::atomic<uint64_t> reserved_ns{0};  // let through, not yet submitted (see gate.h)

  // Not beside reserved_ns, which several threads write.
  alignas(64) SoleLauncher sole_launcher;
  // alone_launches at which Session::check_daemon() is due; of the sole launcher.
  std::atomic<uint64_t> next_alone_check{0};

  // Bumped whenever cost counting pauses, so that streams start over consistently.
  std::atomic<uint32_t> counting_epoch{1};

  std::atomic<bool> daemon_silent{false};  // heartbeat stale: launches pass

  std::atomic<CompletionWay> way{CompletionWay::kUnknown};
  std::atomic<uint64_t> device_base{0};  // the GPU's address of the segment
  SpinLock registration_lock;
};

// The part of the segment, from its beginning, that the driver is asked to let the GPU write to.
size_t gpu_visible_bytes();

// After a newer attachment has taken this one's place. All addresses stay valid for threads that
// still use them, but lead to private zeros (the words of an open gate, a ring that takes nothing);
// only what the GPU may still write to keeps its pages.
void retire_mappings(Attachment& attachment);

// In a fork child: the parent's segment is out of reach from here on. Takes no lock.
void leave_to_parent(Attachment& attachment);

}  // namespace gacer::interpose
