// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/segment_format.h"

#include <cerrno>

#include "runtime/shm/launch_ring.h"

namespace gacer::shm {
namespace {

Status check_ready(const std::atomic<uint32_t>& version) {
  const uint32_t value = version.load(std::memory_order_acquire);  // pairs with format_*
  if (value == 0) return Error{EPROTO, "shared segment: not ready"};
  if (value != abi::kAbiVersion) return version_mismatch(value);
  return {};
}

Status check_shape(const abi::SegmentHeader& header, uint64_t bytes) {
  const bool matches = header.segment_bytes == bytes && header.stream_slots == abi::kStreamSlots &&
                       header.cost_slots == abi::kCostSlots && header.ring_slots == abi::kRingSlots;
  if (!matches) return Error{EPROTO, "shared segment: header describes another layout"};
  return {};
}

}  // namespace

Error version_mismatch(uint32_t theirs) {
  return Error{EPROTO, "protocol version " + std::to_string(theirs) + " met, this program speaks " +
                           std::to_string(abi::kAbiVersion) +
                           ": install gacer, gacerd and libgacer.so of one release and restart "
                           "gacerd ('gacer stop')"};
}

void format_segment(abi::Segment& segment, uint64_t tenant_id, uint64_t process_id) {
  abi::SegmentHeader& header = segment.header;
  header.magic = abi::kSegmentMagic;
  header.segment_bytes = sizeof(abi::Segment);
  header.tenant_id = tenant_id;
  header.process_id = process_id;
  header.stream_slots = abi::kStreamSlots;
  header.cost_slots = abi::kCostSlots;
  header.ring_slots = abi::kRingSlots;
  segment.gate.stream_priority.store(abi::kPriorityKeep, std::memory_order_relaxed);
  format_ring(segment);
  header.version.store(abi::kAbiVersion, std::memory_order_release);  // pairs with check_segment
}

void format_board(abi::Board& board) {
  board.magic = abi::kBoardMagic;
  board.version.store(abi::kAbiVersion, std::memory_order_release);  // pairs with check_board
}

Status check_segment(const MemorySegment& memory) {
  if (memory.bytes() != sizeof(abi::Segment))
    return Error{EPROTO, "shared segment: unexpected size"};
  const auto& header = *static_cast<const abi::SegmentHeader*>(memory.data());
  if (Status ready = check_ready(header.version); !ready) return ready;
  if (header.magic != abi::kSegmentMagic) return Error{EPROTO, "shared segment: foreign magic"};
  return check_shape(header, memory.bytes());
}

Status check_board(const MemorySegment& memory) {
  if (memory.bytes() != sizeof(abi::Board)) return Error{EPROTO, "shared board: unexpected size"};
  const auto& board = *static_cast<const abi::Board*>(memory.data());
  if (Status ready = check_ready(board.version); !ready) return ready;
  if (board.magic != abi::kBoardMagic) return Error{EPROTO, "shared board: foreign magic"};
  return {};
}

}  // namespace gacer::shm
