// SPDX-License-Identifier: Apache-2.0
// Memory of a warp access whose lanes touch several elements each: bounds, and traffic counted over
// the lanes for the first elements, the second ones and so on, as the device would fetch them.
#pragma once

#include <array>
#include <cstring>

#include "runtime/simdevice/exec/texture/sampler.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {

class LaneTraffic final : public TexelSource {
 public:
  explicit LaneTraffic(Warp& warp) : warp_(warp) {}

  void set_lane(uint32_t lane) {
    lane_ = lane;
    round_ = 0;
  }
  // nullptr: not memory of the kernel's context; bad_address() says where.
  uint8_t* find(uint64_t address, uint32_t bytes) {
    BlockRun& block = warp_.block();
    const MemoryRegion* region = block.launch().memory->find(address, bytes, block.region_hint());
    bad_address_ = address;
    if (region == nullptr) return nullptr;
    if (round_ < kRounds) {
      addresses_[round_][lane_] = address;
      masks_[round_++] |= 1u << lane_;
    }
    return region->host + (address - region->base);
  }
  bool read(uint64_t address, uint32_t bytes, uint8_t* to) override {
    const uint8_t* from = find(address, bytes);
    if (from == nullptr) return false;
    std::memcpy(to, from, bytes);
    return true;
  }
  void count(bool is_write) {
    for (uint32_t r = 0; r < kRounds && masks_[r] != 0; ++r)
      warp_.block().traffic().add_lanes(addresses_[r].data(), masks_[r], is_write);
  }
  uint64_t bad_address() const { return bad_address_; }

 private:
  static constexpr uint32_t kRounds = 16;  // eight elements on each of two levels
  Warp& warp_;
  uint32_t lane_ = 0, round_ = 0;
  uint64_t bad_address_ = 0;
  uint32_t masks_[kRounds] = {};
  std::array<std::array<uint64_t, kLanes>, kRounds> addresses_;
};

}  // namespace gacer::simdevice
