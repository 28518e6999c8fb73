// SPDX-License-Identifier: Apache-2.0
// The device's time: real time divided by the time scale, without the time during which effects
// were computed.
#pragma once

#include <cstdint>

#include "runtime/base/clock.h"

namespace gacer::simdevice {

// Not thread-safe.
class ModelClock final : public Clock {
 public:
  // `real` outlives this. `scale` > 0: real nanoseconds per model nanosecond.
  ModelClock(const Clock& real, double scale)
      : real_(real), scale_(scale), zero_ns_(real.now_ns()) {}

  // Starts at kStartNs so that 0 can mean "never".
  uint64_t now_ns() const override {
    return to_model(pauses_ > 0 ? paused_at_ns_ : real_.now_ns());
  }
  // Real time until the model reaches `model_ns`; 0 when it already has.
  uint64_t real_ns_until(uint64_t model_ns) const {
    const uint64_t now = now_ns();
    if (model_ns <= now) return 0;
    const double real = static_cast<double>(model_ns - now) * scale_;
    return real < 9e18 ? static_cast<uint64_t>(real) : UINT64_MAX;
  }

  // Real time since the model was at `model_ns`, had nothing been paused.
  uint64_t real_ns_since(uint64_t model_ns) const {
    const uint64_t now = now_ns();
    return now <= model_ns ? 0
                           : static_cast<uint64_t>(static_cast<double>(now - model_ns) * scale_);
  }

  // Stands still between pause() and resume(); may be nested.
  void pause() {
    if (pauses_++ == 0) paused_at_ns_ = real_.now_ns();
  }
  void resume() {
    if (--pauses_ == 0) zero_ns_ += real_.now_ns() - paused_at_ns_;
  }

 private:
  static constexpr uint64_t kStartNs = 1000;
  uint64_t to_model(uint64_t real_ns) const {
    return kStartNs + static_cast<uint64_t>(static_cast<double>(real_ns - zero_ns_) / scale_);
  }
  const Clock& real_;
  double scale_;
  uint64_t zero_ns_;
  uint64_t paused_at_ns_ = 0;
  int pauses_ = 0;
};

class ClockPause {
 public:
  explicit ClockPause(ModelClock& clock) : clock_(clock) { clock_.pause(); }
  ~ClockPause() { clock_.resume(); }
  ClockPause(const ClockPause&) = delete;
  ClockPause& operator=(const ClockPause&) = delete;

 private:
  ModelClock& clock_;
};

}  // namespace gacer::simdevice
