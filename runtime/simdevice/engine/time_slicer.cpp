// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/time_slicer.h"

#include <algorithm>
#include <utility>

#include "runtime/simdevice/engine/timing.h"

namespace gacer::simdevice {
namespace {

// Registers and shared memory of all SMs, saved or restored at DRAM speed.
uint64_t state_copy_ns(const DeviceModel& device) {
  const DeviceSpec& spec = device.spec;
  const double state = static_cast<double>(spec.sm_count) *
                       (4.0 * spec.regs_per_sm + static_cast<double>(spec.smem_per_sm_bytes));
  return static_cast<uint64_t>(state / (spec.dram_bytes_per_ns * device.memory.dram_efficiency));
}

}  // namespace

TimeSlicer::TimeSlicer(const DeviceModel& device)
    : device_(device), state_copy_ns_(state_copy_ns(device)) {}

SmArray& TimeSlicer::array(uint32_t group) {
  for (Group& known : groups_)
    if (known.id == group) return *known.sms;
  groups_.push_back({group, std::make_unique<SmArray>(device_)});
  return *groups_.back().sms;
}

void TimeSlicer::remove(uint32_t group, uint64_t now_ns) {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].id != group) continue;
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
    if (current_ == i) {
      current_ = kNone;
      switch_done_ns_ = kNever;
    } else if (current_ != kNone && current_ > i) {
      --current_;
    }
    break;
  }
  update(now_ns);
}

size_t TimeSlicer::next_with_work() const {
  const size_t first = current_ == kNone ? 0 : current_ + 1;
  for (size_t step = 0; step < groups_.size(); ++step) {
    const size_t i = (first + step) % groups_.size();
    if (i != current_ && groups_[i].sms->has_work()) return i;
  }
  return kNone;
}

void TimeSlicer::begin_switch(size_t to, uint64_t now_ns) {
  if (current_ == kNone) {
    current_ = to;
    return finish_switch(now_ns);
  }
  uint64_t cost_ns = kContextSwitchFixedNs;
  if (current_array()->has_resident_blocks()) cost_ns += state_copy_ns_;
  if (groups_[to].sms->has_resident_blocks()) cost_ns += state_copy_ns_;
  current_array()->freeze(now_ns);
  current_ = to;
  switch_done_ns_ = now_ns + cost_ns;
}

void TimeSlicer::finish_switch(uint64_t now_ns) {
  switch_done_ns_ = kNever;
  current_array()->thaw(now_ns);
  slice_end_ns_ = now_ns + kTimesliceNs;
}

void TimeSlicer::update(uint64_t now_ns) {
  if (switching()) {
    if (now_ns < switch_done_ns_) return;
    finish_switch(now_ns);
  }
  const size_t other = next_with_work();
  const bool was_contended = std::exchange(contended_, other != kNone);
  if (!contended_) return;
  if (current_ == kNone || !current_array()->has_work()) return begin_switch(other, now_ns);
  // Nobody else asked for the SMs until now: slices went on one after the other.
  if (!was_contended && slice_end_ns_ <= now_ns)
    slice_end_ns_ += ((now_ns - slice_end_ns_) / kTimesliceNs + 1) * kTimesliceNs;
  if (now_ns >= slice_end_ns_) begin_switch(other, now_ns);
}

uint64_t TimeSlicer::next_event_ns() const {
  if (switching()) return switch_done_ns_;
  return contended_ ? slice_end_ns_ : kNever;
}

}  // namespace gacer::simdevice
