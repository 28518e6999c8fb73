// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/sm_array.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/simdevice/engine/timing.h"

namespace gacer::simdevice {
namespace {

// An SM keeps its DRAM share while the fair level moves less than this.
constexpr double kLevelTolerance = 0.01;
constexpr double kNoQueue = 0.3;  // of the capacity: below, queues cost less than 1 %
// A device copy or memset keeps so many requests in flight that its rate is not held back by
// queues.
constexpr double kFlowLoad = 4.0;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

bool runs_before(const KernelRun& a, const KernelRun& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.arrival < b.arrival;
}

// Changes of what other kernels do to L2 below this share of it are not followed.
constexpr double kRivalTolerance = 0.05;

bool same_limit(double a, double b) {
  if (std::isinf(a) || std::isinf(b)) return std::isinf(a) && std::isinf(b);
  return std::abs(a - b) <= kLevelTolerance * b;
}

// What DRAM serves of a demand.
double served(double demand, double capacity) {
  const double load = demand / capacity;
  if (load < kNoQueue) return demand;
  return demand / std::pow(1.0 + std::pow(load, kDramSaturation), 1.0 / kDramSaturation);
}

}  // namespace

SmArray::SmArray(const DeviceModel& device)
    : device_(device),
      spec_(device.spec),
      sms_(spec_.sm_count),
      is_freed_(spec_.sm_count),
      dram_capacity_(spec_.dram_bytes_per_ns * device.memory.dram_efficiency) {}

void SmArray::add(std::unique_ptr<KernelRun> run) {
  const auto place =
      std::upper_bound(runs_.begin(), runs_.end(), run,
                       [](const auto& a, const auto& b) { return runs_before(*a, *b); });
  set_usable_sms(*run);
  runs_.insert(place, std::move(run));
  new_runs_ = runs_changed_ = true;
}

void SmArray::remove_client(uint32_t client) {
  for (uint32_t i = 0; i < sms_.size(); ++i) {
    const uint32_t before = sms_[i].usage().blocks;
    sms_[i].remove_client(client);
    if (sms_[i].usage().blocks != before) mark_freed(i);
  }
  std::erase_if(runs_, [client](const auto& run) { return run->client == client; });
  sm_caps_.erase(client);
  runs_changed_ = true;
}

void SmArray::set_usable_sms(KernelRun& run) const {
  run.usable_sms = run.sms.unrestricted() ? spec_.sm_count : run.sms.count();
  if (const auto cap = sm_caps_.find(run.client); cap != sm_caps_.end())
    run.usable_sms = std::min(run.usable_sms, cap->second);
}

// What running kernels do to each other's data in L2; nothing while all of it fits.
void SmArray::find_rivals() {
  runs_changed_ = false;
  CacheRivals all;
  const auto rate_of = [](const KernelRun& run) {
    const CacheDependence& caches = *run.cost.caches;
    return caches.bytes_per_ns *
           std::min(caches.accesses.grid_blocks, caches.blocks_on_sm * run.usable_sms);
  };
  for (const auto& run : runs_) {
    if (run->cost.caches == nullptr) continue;
    all.bytes += run->cost.caches->accesses.grid_bytes;
    all.bytes_per_ns += rate_of(*run);
  }
  const bool fits = all.bytes <= static_cast<double>(spec_.l2_bytes);
  for (const auto& run : runs_) {
    if (run->cost.caches == nullptr || !run->cost.caches->on_l2) continue;
    press(*run, fits ? CacheRivals{}
                     : CacheRivals{all.bytes - run->cost.caches->accesses.grid_bytes,
                                   all.bytes_per_ns - rate_of(*run)});
  }
}

void SmArray::press(KernelRun& run, const CacheRivals& rivals) {
  const double change = std::abs(run.on_l2.bytes - rivals.bytes);
  if (change <= kRivalTolerance * static_cast<double>(spec_.l2_bytes)) return;
  run.on_l2 = rivals;
  for (Sm& sm : sms_)
    for (const BlockGroup& group : sm.groups())
      if (group.run == &run) sm.dirty = true;
}

void SmArray::set_sm_cap(uint32_t client, uint32_t sms) {
  if (sms < spec_.sm_count) sm_caps_[client] = std::max(sms, 1U);
}

void SmArray::dispatch(uint64_t now_ns) {
  if (!new_runs_ && freed_.empty()) return;
  uint32_t resident = 0;
  for (const auto& run : runs_) {
    if (resident++ == kMaxResidentGrids) break;
    if (run->blocks_pending > 0) place_run(*run, now_ns);
  }
  for (const uint32_t i : freed_) is_freed_[i] = false;
  freed_.clear();
  new_runs_ = false;
}

void SmArray::mark_freed(uint32_t sm) {
  if (is_freed_[sm]) return;
  is_freed_[sm] = true;
  freed_.push_back(sm);
}

void SmArray::place_run(KernelRun& run, uint64_t now_ns) {
  find_room(run);
  if (const auto cap = sm_caps_.find(run.client); cap != sm_caps_.end()) apply_sm_cap(run);
  run.offered_all_sms = true;
  uint64_t room = 0;
  for (const Candidate& candidate : candidates_) room += candidate.room;
  if (room == 0) return;
  if (room <= run.blocks_pending) {
    for (Candidate& candidate : candidates_) candidate.take = candidate.room;
  } else {
    spread(run.blocks_pending, run.cost.threads);
  }
  for (const Candidate& candidate : candidates_)
    if (candidate.take > 0) sms_[candidate.sm].place(run, candidate.take, now_ns);
}

void SmArray::find_room(const KernelRun& run) {
  candidates_.clear();
  const auto offer = [&](uint32_t i) {
    if (!run.sms.allows(i)) return;
    const uint32_t room = sms_[i].room_for(spec_, run.cost);
    if (room > 0) candidates_.push_back({i, room, sms_[i].usage().threads, 0});
  };
  // Under a cap the SMs in use decide which others may be used, so all are looked at.
  if (run.offered_all_sms && !sm_caps_.contains(run.client)) {
    for (const uint32_t i : freed_) offer(i);
  } else {
    for (uint32_t i = 0; i < sms_.size(); ++i) offer(i);
  }
}

// Keeps the SMs that the client uses already and as many others, emptiest first, as its cap allows.
void SmArray::apply_sm_cap(const KernelRun& run) {
  const uint32_t cap = sm_caps_[run.client];
  std::vector<bool> used(sms_.size());
  uint32_t in_use = 0;
  for (size_t i = 0; i < sms_.size(); ++i) {
    used[i] = sms_[i].threads_of(run.client) > 0;
    in_use += used[i];
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [&](const Candidate& a, const Candidate& b) {
                     if (used[a.sm] != used[b.sm]) return bool{used[a.sm]};
                     return a.load < b.load;
                   });
  uint32_t fresh = in_use < cap ? cap - in_use : 0;
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    if (used[candidate.sm]) return false;
    if (fresh == 0) return true;
    --fresh;
    return false;
  });
}

uint64_t SmArray::count_up_to(uint32_t level, uint32_t threads) const {
  uint64_t count = 0;
  for (const Candidate& candidate : candidates_)
    if (candidate.load < level)
      count += std::min(candidate.room, (level - candidate.load) / threads);
  return count;
}

// The common case, an idle device: all SMs alike.
bool SmArray::spread_evenly(uint64_t blocks) {
  const auto count = static_cast<uint32_t>(candidates_.size());
  const auto each = static_cast<uint32_t>(blocks / count);
  uint32_t left = static_cast<uint32_t>(blocks % count);
  for (const Candidate& candidate : candidates_)
    if (candidate.load != candidates_[0].load || candidate.room < each + 1) return false;
  for (Candidate& candidate : candidates_) {
    candidate.take = each + (left > 0 ? 1 : 0);
    left -= left > 0 ? 1 : 0;
  }
  return true;
}

// Fills the SMs up to one level of threads, the rest one each: what placing block after block on
// the emptiest SM gives. Precondition: fewer blocks than the candidates have room for.
void SmArray::spread(uint64_t blocks, uint32_t threads) {
  if (spread_evenly(blocks)) return;
  uint32_t low = 0;
  uint32_t high = spec_.threads_per_sm + threads;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (count_up_to(middle, threads) <= blocks ? low : high) = middle;
  }
  uint64_t left = blocks;
  for (Candidate& candidate : candidates_) {
    const uint32_t fit = candidate.load < low ? (low - candidate.load) / threads : 0;
    candidate.take = std::min(candidate.room, fit);
    left -= candidate.take;
  }
  for (Candidate& candidate : candidates_) {
    if (left == 0) break;
    const uint32_t next = candidate.load + (candidate.take + 1) * threads;
    if (candidate.take == candidate.room || next > high) continue;
    ++candidate.take;
    --left;
  }
}

// Returns the sum of what is asked of DRAM.
double SmArray::collect_demands(uint64_t now_ns, const MemoryFlows& flows) {
  demands_.clear();
  l2_demands_.clear();
  for (Sm& sm : sms_) {
    if (sm.dirty) {
      sm.advance(now_ns);
      sm.set_rates(device_, now_ns, sm.limits());
    }
    if (sm.dram_demand() > 0) demands_.push_back({sm.dram_demand(), 1.0});
    if (sm.l2_demand() > 0) l2_demands_.push_back({sm.l2_demand(), 1.0});
  }
  double sum = 0;
  for (const Demand& demand : demands_) sum += demand.amount;
  flows.append_demands(demands_);
  return sum + kFlowLoad * static_cast<double>(flows.count()) * dram_capacity_;
}

SmLimits SmArray::find_limits(uint64_t now_ns, const MemoryFlows& flows) {
  const double demand = collect_demands(now_ns, flows);
  SmLimits limits{kUnlimited, kUnlimited};
  if (demand > 0) limits.dram_bytes_per_ns = fair_level(demands_, served(demand, dram_capacity_));
  if (!l2_demands_.empty()) limits.l2 = fair_level(l2_demands_, 1.0);
  return limits;
}

void SmArray::settle(uint64_t now_ns, MemoryFlows& flows) {
  if (runs_changed_) find_rivals();
  const SmLimits limits = find_limits(now_ns, flows);
  for (Sm& sm : sms_) {
    const auto unchanged = [](double demand, double now, double then) {
      // The same, or neither the old nor the new limit is felt.
      return demand <= 0 || same_limit(now, then) || (demand <= now && demand <= then);
    };
    const SmLimits& then = sm.limits();
    if (unchanged(sm.dram_demand(), limits.dram_bytes_per_ns, then.dram_bytes_per_ns) &&
        unchanged(sm.l2_demand(), limits.l2, then.l2))
      continue;
    sm.advance(now_ns);
    sm.set_rates(device_, now_ns, limits);
  }
  if (!flows.empty() || flows.dirty) {
    flows.advance(now_ns);
    flows.set_rates(now_ns, limits.dram_bytes_per_ns);
  }
  find_next_end(flows);
}

void SmArray::find_next_end(const MemoryFlows& flows) {
  next_end_ns_ = flows.next_end_ns();
  for (const Sm& sm : sms_) next_end_ns_ = std::min(next_end_ns_, sm.next_end_ns());
}

void SmArray::retire(uint64_t now_ns, std::vector<std::unique_ptr<KernelRun>>& done) {
  bool any = false;
  for (uint32_t i = 0; i < sms_.size(); ++i) {
    if (!sms_[i].retire(now_ns)) continue;
    mark_freed(i);
    any = true;
  }
  if (!any) return;
  for (auto& run : runs_)
    if (run->blocks_pending == 0 && run->blocks_running == 0) done.push_back(std::move(run));
  std::erase(runs_, nullptr);
  runs_changed_ = true;
}

bool SmArray::has_resident_blocks() const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [](const auto& run) { return run->blocks_running > 0; });
}

void SmArray::freeze(uint64_t now_ns) {
  for (Sm& sm : sms_) sm.advance(now_ns);
  next_end_ns_ = kNever;
}

void SmArray::thaw(uint64_t now_ns) {
  for (Sm& sm : sms_) {
    sm.resume(now_ns);
    sm.dirty = true;
  }
}

double SmArray::thread_share(uint32_t client) const {
  uint64_t threads = 0;
  for (const Sm& sm : sms_) threads += sm.threads_of(client);
  return static_cast<double>(threads) /
         (static_cast<double>(spec_.threads_per_sm) * spec_.sm_count);
}

}  // namespace gacer::simdevice
