// SPDX-License-Identifier: Apache-2.0
// Which group of contexts owns the SMs. All MPS clients are one group; every other client is its
// own. With work in two or more groups each gets a slice in turn; the others' blocks stand still. A
// group alone is never interrupted.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/simdevice/engine/sm_array.h"

namespace gacer::simdevice {

class TimeSlicer {
 public:
  explicit TimeSlicer(const DeviceModel& device);

  // The array of group `group` (0: the MPS clients), made when first asked for.
  SmArray& array(uint32_t group);
  void remove(uint32_t group, uint64_t now_ns);

  // Decides who runs at now_ns; to be called when work came or went or at next_event_ns().
  void update(uint64_t now_ns);
  uint64_t next_event_ns() const;
  // nullptr while contexts are switched.
  SmArray* active() { return switching() ? nullptr : current_array(); }
  const SmArray* active() const { return const_cast<TimeSlicer*>(this)->active(); }

 private:
  struct Group {
    uint32_t id = 0;
    std::unique_ptr<SmArray> sms;
  };
  static constexpr size_t kNone = SIZE_MAX;
  bool switching() const { return switch_done_ns_ != kNever; }
  SmArray* current_array() { return current_ == kNone ? nullptr : groups_[current_].sms.get(); }
  size_t next_with_work() const;
  void begin_switch(size_t to, uint64_t now_ns);
  void finish_switch(uint64_t now_ns);

  const DeviceModel& device_;
  std::vector<Group> groups_;
  size_t current_ = kNone;
  uint64_t slice_end_ns_ = 0;
  uint64_t switch_done_ns_ = kNever;
  uint64_t state_copy_ns_;
  bool contended_ = false;
};

}  // namespace gacer::simdevice
