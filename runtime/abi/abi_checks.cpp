// SPDX-License-Identifier: Apache-2.0
// The layout, checked by the compiler. A change here is a change of kAbiVersion.
#include <cstddef>

#include "runtime/abi/control_messages.h"
#include "runtime/abi/segment_layout.h"

namespace gacer::abi {

static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);
static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == 8);

static_assert(sizeof(SegmentHeader) == 64 && offsetof(SegmentHeader, version) == 60);
static_assert(sizeof(GateWords) == 128 && offsetof(GateWords, memory_limit_bytes) == 56);
static_assert(sizeof(ProgressWords) == 128 && offsetof(ProgressWords, wait_ns_by_reason) == 64 &&
              offsetof(ProgressWords, alone_launches) == 112);
static_assert(sizeof(StreamSlot) == 64);
static_assert(sizeof(CostTable) == 4 * kCostSlots);
static_assert(sizeof(LaunchRecord) == 64);
static_assert(sizeof(RingControl) == 128 && offsetof(RingControl, head) == 64);
static_assert((kRingSlots & (kRingSlots - 1)) == 0);
static_assert(offsetof(Segment, gate) == 64 && offsetof(Segment, progress) == 192);
static_assert(offsetof(Segment, streams) == 320 &&
              offsetof(Segment, costs) == 320 + 64 * kStreamSlots);
static_assert(sizeof(UnknownFunction) == 64 && offsetof(UnknownFunction, calls) == 56);
static_assert(offsetof(Segment, coverage) ==
              320 + 64 * kStreamSlots + 4 * kCostSlots + 128 + 64 * kRingSlots);
static_assert(sizeof(Board) == 64 && offsetof(Board, version) == 60);

static_assert(sizeof(MessageHeader) == 16);
static_assert(sizeof(HelloMessage) == 288 && offsetof(HelloMessage, tenant) == 96);
static_assert(sizeof(WelcomeMessage) == 48);
static_assert(sizeof(RefusedMessage) == 264);
static_assert(sizeof(MemoryMessage) == 72 && offsetof(MemoryMessage, device_uuid) == 32);
static_assert(sizeof(MemoryQueryMessage) == 96);

}  // namespace gacer::abi
