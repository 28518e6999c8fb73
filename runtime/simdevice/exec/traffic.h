// SPDX-License-Identifier: Apache-2.0
// Global memory traffic of one block: 32-byte sectors per warp access, and an estimate of the
// distinct bytes.
//
// Distinct sectors are kept in a table of 128-byte lines. When it fills up, lines whose hash does
// not end in enough zero bits are dropped and the count is scaled up, so memory stays bounded and
// the estimate unbiased. Of a sector touched again it is counted how much the warps had touched
// since: a cache that holds less has lost it. Not thread-safe: one per running block.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {

class TrafficMeter {
 public:
  void reset(uint32_t warps = 1);
  // Whose accesses come next.
  void set_warp(uint32_t warp) { warp_ = warp; }
  // A contiguous access of `bytes` bytes.
  void add_range(uint64_t address, uint64_t bytes, bool is_write);
  // One access at address[i] for each lane in mask, none of which straddles a sector (aligned
  // accesses of at most 32 bytes do not).
  void add_lanes(const uint64_t* address, uint32_t mask, bool is_write);

  uint64_t sectors_read() const { return sectors_[0]; }
  uint64_t sectors_written() const { return sectors_[1]; }
  uint64_t unique_bytes_read() const { return unique_bytes(0); }
  uint64_t unique_bytes_written() const { return unique_bytes(1); }
  void add_reuse(std::array<ReuseBucket, kReuseBuckets>& sum) const;

 private:
  struct Line {
    uint64_t key = 0;  // line number + 1; 0: empty
    uint32_t epoch = 0;
    uint8_t seen[2] = {0, 0};  // sectors read, written
    uint32_t last[4] = {};     // of each sector: progress of the warp that touched it last
  };
  static constexpr uint32_t kSlots = 8192;

  void touch(uint64_t line, uint8_t sectors, bool is_write);
  void count_reuse(Line& slot, uint8_t sectors, uint32_t now, bool is_write);
  Line* slot_of(uint64_t line, uint64_t hash);
  void thin_out();
  uint64_t unique_bytes(int which) const { return (kept_[which] * 32) << thinning_; }

  std::vector<Line> lines_ = std::vector<Line>(kSlots);
  uint32_t epoch_ = 1;
  uint32_t used_ = 0;
  uint32_t thinning_ = 0;      // only lines whose hash has this many low zero bits are kept
  uint64_t kept_[2] = {0, 0};  // distinct sectors among the kept lines
  uint64_t sectors_[2] = {0, 0};
  uint32_t warp_ = 0;
  std::vector<uint32_t> progress_ = {0};  // sectors each warp has touched
  std::array<ReuseBucket, kReuseBuckets> reuse_{};
  uint64_t last_line_ = ~uint64_t{0};
  uint8_t last_seen_[2] = {0, 0};
  uint8_t last_touched_ = 0;  // since no other line was
};

}  // namespace gacer::simdevice
