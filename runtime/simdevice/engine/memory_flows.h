// SPDX-License-Identifier: Apache-2.0
// Device-to-device copies and memsets: traffic that shares DRAM with the SMs.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/simdevice/engine/fair_share.h"

namespace gacer::simdevice {

class MemoryFlows {
 public:
  // `max_rate`: bytes per ns of one flow that is alone. `weight`: against one SM's 1.
  MemoryFlows(double max_rate, double weight) : max_rate_(max_rate), weight_(weight) {}

  void add(uint64_t op, uint64_t bytes, uint64_t now_ns);
  void remove(uint64_t op);
  void advance(uint64_t now_ns);
  void append_demands(std::vector<Demand>& demands) const;
  // `level` as fair_level() gave it. Needs advance(now_ns) before.
  void set_rates(uint64_t now_ns, double level);
  // Moves the operations that ended by now_ns to `ended`.
  void retire(uint64_t now_ns, std::vector<uint64_t>& ended);

  uint64_t next_end_ns() const { return next_end_ns_; }
  bool empty() const { return flows_.empty(); }
  size_t count() const { return flows_.size(); }
  bool dirty = false;

 private:
  struct Flow {
    uint64_t op = 0;
    double remaining = 0;
    double rate = 0;
  };
  std::vector<Flow> flows_;
  double max_rate_;
  double weight_;
  uint64_t updated_ns_ = 0;
  uint64_t next_end_ns_ = UINT64_MAX;
};

}  // namespace gacer::simdevice
