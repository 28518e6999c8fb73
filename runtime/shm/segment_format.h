// SPDX-License-Identifier: Apache-2.0
// Fills a fresh segment or board so that the other side may use it, and the other side's check.
//
// Readiness: format_* stores `version` last with release; check_* loads it with acquire. A version
// of 0 means not ready, any other than kAbiVersion is refused with both versions and the remedy.
#pragma once

#include "runtime/abi/segment_layout.h"
#include "runtime/base/result.h"
#include "runtime/shm/memory_segment.h"

namespace gacer::shm {

// Precondition: zeroed memory of at least the struct's size.
void format_segment(abi::Segment& segment, uint64_t tenant_id, uint64_t process_id);
void format_board(abi::Board& board);

// EPROTO with one line; `memory` is a mapping of a received fd.
Status check_segment(const MemorySegment& memory);
Status check_board(const MemorySegment& memory);

// "daemon speaks protocol 1, this program speaks 2: ..." for messages and segments alike.
Error version_mismatch(uint32_t theirs);

}  // namespace gacer::shm
