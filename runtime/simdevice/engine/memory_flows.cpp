// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/memory_flows.h"

#include <algorithm>
#include <cmath>

#include "runtime/simdevice/engine/timing.h"

namespace gacer::simdevice {

void MemoryFlows::add(uint64_t op, uint64_t bytes, uint64_t now_ns) {
  advance(now_ns);
  flows_.push_back({op, static_cast<double>(bytes), 0});
  dirty = true;
}

void MemoryFlows::remove(uint64_t op) {
  if (std::erase_if(flows_, [op](const Flow& flow) { return flow.op == op; }) > 0) dirty = true;
}

void MemoryFlows::advance(uint64_t now_ns) {
  const double elapsed = static_cast<double>(now_ns - updated_ns_);
  for (Flow& flow : flows_) flow.remaining -= flow.rate * elapsed;
  updated_ns_ = now_ns;
}

void MemoryFlows::append_demands(std::vector<Demand>& demands) const {
  for (size_t i = 0; i < flows_.size(); ++i) demands.push_back({max_rate_, weight_});
}

void MemoryFlows::set_rates(uint64_t now_ns, double level) {
  double soonest = INFINITY;
  for (Flow& flow : flows_) {
    flow.rate = std::min(max_rate_, level * weight_);
    soonest = std::min(soonest, std::max(flow.remaining, 0.0) / flow.rate);
  }
  next_end_ns_ = UINT64_MAX;
  if (!flows_.empty()) {
    const double end = std::ceil(static_cast<double>(now_ns) + std::max(soonest, 1.0));
    next_end_ns_ = (static_cast<uint64_t>(end) + kTickNs - 1) / kTickNs * kTickNs;
  }
  dirty = false;
}

void MemoryFlows::retire(uint64_t now_ns, std::vector<uint64_t>& ended) {
  if (next_end_ns_ > now_ns) return;
  advance(now_ns);
  std::erase_if(flows_, [&ended](const Flow& flow) {
    if (flow.remaining > 1e-6) return false;
    ended.push_back(flow.op);
    return true;
  });
  dirty = true;
  next_end_ns_ = UINT64_MAX;
}

}  // namespace gacer::simdevice
