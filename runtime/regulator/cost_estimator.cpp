// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/cost_estimator.h"

#include <algorithm>
#include <cmath>

#include "runtime/regulator/group_fit.h"
#include "runtime/regulator/sm_share.h"

namespace gacer::regulator {
namespace {

constexpr double kMinDurationNs = 100;
constexpr double kMaxDurationNs = 60e9;
constexpr double kDefaultDurationNs = 50e3;
constexpr double kMinGain = 0.1;         // keeps following kernels whose inputs change
constexpr double kSharedGrowGain = 0.1;  // for the first idea only
constexpr double kSharedShrinkGain = 0.3;
constexpr double kMaxStep = 2.0;  // one outlier at most doubles or halves
constexpr double kFirstStep = 8.0;
constexpr uint32_t kFirstSamples = 4;

double clamp_duration(double ns) {
  return std::clamp(ns, kMinDurationNs, kMaxDurationNs);
}

uint32_t cost_of(const KernelEstimate& kernel) {
  const double cost = std::round(kernel.duration_ns * kernel.sm_share);
  return static_cast<uint32_t>(std::clamp(cost, 1.0, static_cast<double>(UINT32_MAX)));
}

bool moved_enough(uint32_t before, uint32_t now, uint64_t step_percent) {
  const double change = std::abs(static_cast<double>(now) - static_cast<double>(before));
  return change * 100 > static_cast<double>(before) * static_cast<double>(step_percent);
}

double ns_after(uint64_t start_ns, uint64_t ns) {
  return ns <= start_ns ? 0.0 : static_cast<double>(ns - start_ns);
}

// Company can only make a kernel slower: it may lower an estimate, and raise one that never had a
// time alone.
double gain_of(const KernelEstimate& kernel, double ratio, bool alone) {
  if (ratio == 1) return 0;
  if (alone) return std::max(kMinGain, 1.0 / (kernel.samples + 1.0));
  if (ratio < 1) return kSharedShrinkGain;
  return kernel.samples == 0 ? kSharedGrowGain : 0;
}

}  // namespace

KernelEstimate CostEstimator::new_estimate(const LaunchEvent& launch) const {
  KernelEstimate kernel;
  kernel.key = key_of(launch);
  kernel.sm_share = sm_share(device_, launch);
  kernel.duration_ns =
      launch.cost_ns == 0 ? kDefaultDurationNs : clamp_duration(launch.cost_ns / kernel.sm_share);
  return kernel;
}

void CostEstimator::launched(const LaunchEvent& launch) {
  if (launch.stream_slot >= kMaxStreamSlots) return;
  KernelEstimate* kernel = kernels_.find(key_of(launch));
  if (kernel == nullptr) kernel = &kernels_.insert(new_estimate(launch));
  kernel->cost_slot = launch.cost_slot;
  streams_[launch.stream_slot].launched(launch);
}

void CostEstimator::progressed(uint32_t stream_slot, const Observation& seen) {
  if (stream_slot >= kMaxStreamSlots) return;
  StreamTimeline& stream = streams_[stream_slot];
  const CompletedGroup group = stream.completed(seen.completed_cost_ns, seen.now_ns);
  if (group.usable && !group.launches.empty()) stream.set_end(fit(group, seen));
}

void CostEstimator::stream_gone(uint32_t stream_slot) {
  if (stream_slot < kMaxStreamSlots) streams_[stream_slot].forget();
}

double CostEstimator::duration_of(const KernelKey& key) {
  const KernelEstimate* kernel = kernels_.find(key);
  return kernel == nullptr ? kDefaultDurationNs : kernel->duration_ns;
}

GroupTimes CostEstimator::times_of(const CompletedGroup& group, const Observation& seen) {
  GroupTimes times;
  times.since_ns = ns_after(group.previous_end_ns, group.since_ns);
  times.until_ns = ns_after(group.previous_end_ns, group.until_ns);
  times.each_end_seen = group.launches.front().submit_ns > seen.all_marked_since_ns;
  for (const PendingLaunch& launch : group.launches) {
    const double submit_ns = ns_after(group.previous_end_ns, launch.submit_ns);
    times.launches.push_back({std::min(submit_ns, times.until_ns), duration_of(launch.key)});
  }
  return times;
}

// Returns when the last launch of the group ended.
uint64_t CostEstimator::fit(const CompletedGroup& group, const Observation& seen) {
  const GroupFit fitted = fit_group(times_of(group, seen));
  const uint64_t start_ns = group.previous_end_ns + static_cast<uint64_t>(fitted.start_ns);
  const bool alone = seen.others_busy_until_ns <= start_ns;
  ++group_number_;
  learn(group.launches.front().key, fitted.first_ratio, alone);
  for (const PendingLaunch& launch : group.launches) learn(launch.key, fitted.rest_ratio, alone);
  return group.previous_end_ns + static_cast<uint64_t>(fitted.end_ns);
}

// A kernel learns once from a group however often it is in it. Predictions that fit (ratio 1) teach
// nothing.
void CostEstimator::learn(const KernelKey& key, double ratio, bool alone) {
  KernelEstimate* kernel = kernels_.find(key);
  if (kernel == nullptr || kernel->learnt_in_group == group_number_) return;
  kernel->learnt_in_group = group_number_;
  const double gain = gain_of(*kernel, ratio, alone);
  if (gain == 0) return;
  const double step = kernel->samples < kFirstSamples ? kFirstStep : kMaxStep;
  const double bounded = std::clamp(ratio, 1 / step, step);
  kernel->duration_ns = clamp_duration(kernel->duration_ns * (1 + gain * (bounded - 1)));
  if (alone) ++kernel->samples;
  queue_cost(*kernel);
}

void CostEstimator::queue_cost(const KernelEstimate& kernel) {
  if (kernel.cost_slot >= kMaxCostSlots) return;
  Published& slot = published_[kernel.cost_slot];
  slot.key = kernel.key;
  if (slot.queued) return;
  slot.queued = true;
  queue_.push_back(kernel.cost_slot);
}

void CostEstimator::drain_costs(ProcessId process, uint64_t step_percent,
                                std::vector<KernelCost>& costs) {
  for (const uint32_t cost_slot : queue_) {
    Published& slot = published_[cost_slot];
    slot.queued = false;
    const KernelEstimate* kernel = kernels_.find(slot.key);
    if (kernel == nullptr || !moved_enough(slot.cost_ns, cost_of(*kernel), step_percent)) continue;
    slot.cost_ns = cost_of(*kernel);
    costs.push_back({process, cost_slot, slot.cost_ns});
  }
  queue_.clear();
}

}  // namespace gacer::regulator
