// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/sm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/simdevice/engine/fair_share.h"
#include "runtime/simdevice/engine/timing.h"

namespace gacer::simdevice {
namespace {

// Progress below this is done: far under the tick, over rounding of doubles.
constexpr double kDone = 1e-9;
constexpr size_t kDemandsOnStack = 12;

uint64_t on_tick(double ns) {
  if (!(ns < 9e18)) return kNever;
  return (static_cast<uint64_t>(std::ceil(ns)) + kTickNs - 1) / kTickNs * kTickNs;
}

// Room for the demands of one SM without an allocation in the common case.
class DemandList {
 public:
  explicit DemandList(size_t count) : count_(count) {
    if (count > kDemandsOnStack) heap_.resize(count);
  }
  Demand& operator[](size_t i) { return data()[i]; }
  std::span<const Demand> span() { return {data(), count_}; }

 private:
  Demand* data() { return heap_.empty() ? stack_ : heap_.data(); }
  size_t count_;
  Demand stack_[kDemandsOnStack];
  std::vector<Demand> heap_;
};

double weight_of(const BlockGroup& group) {
  return static_cast<double>(group.blocks) * static_cast<double>(group.run->cost.warps());
}

// Scales the rates of groups so that sum(blocks * rate * need) <= capacity, the warps sharing
// alike.
template <typename Need>
void share(std::vector<BlockGroup>& groups, double capacity, Need need) {
  double total = 0;
  for (const BlockGroup& group : groups) total += group.blocks * group.rate * need(group);
  if (total <= capacity) return;
  if (groups.size() == 1) {
    groups[0].rate *= capacity / total;
    return;
  }
  DemandList demands(groups.size());
  for (size_t i = 0; i < groups.size(); ++i)
    demands[i] = {groups[i].blocks * groups[i].rate * need(groups[i]), weight_of(groups[i])};
  const double level = fair_level(demands.span(), capacity);
  for (size_t i = 0; i < groups.size(); ++i) {
    const double granted = level * demands[i].weight;
    if (demands[i].amount > granted) groups[i].rate *= granted / demands[i].amount;
  }
}

}  // namespace

uint32_t Sm::room_for(const DeviceSpec& spec, const KernelCost& cost) const {
  uint32_t fit = spec.blocks_per_sm - usage_.blocks;
  fit = std::min(fit, (spec.threads_per_sm - usage_.threads) / cost.threads);
  if (cost.registers > 0)
    fit = std::min(fit, (spec.regs_per_sm - usage_.registers) / cost.registers);
  if (cost.smem_bytes > 0)
    fit = std::min(fit, (spec.smem_per_sm_bytes - usage_.smem_bytes) / cost.smem_bytes);
  return fit;
}

void Sm::place(KernelRun& run, uint32_t blocks, uint64_t now_ns) {
  advance(now_ns);
  groups_.push_back({&run, blocks, 1.0, 0.0, run.cost});
  usage_.blocks += blocks;
  usage_.threads += blocks * run.cost.threads;
  usage_.registers += blocks * run.cost.registers;
  usage_.smem_bytes += blocks * run.cost.smem_bytes;
  run.blocks_pending -= blocks;
  run.blocks_running += blocks;
  if (run.first_block_ns == kNever) run.first_block_ns = now_ns;
  dirty = true;
}

void Sm::release(const BlockGroup& group) {
  usage_.blocks -= group.blocks;
  usage_.threads -= group.blocks * group.run->cost.threads;
  usage_.registers -= group.blocks * group.run->cost.registers;
  usage_.smem_bytes -= group.blocks * group.run->cost.smem_bytes;
  group.run->blocks_running -= group.blocks;
  dirty = true;
}

void Sm::advance(uint64_t now_ns) {
  const double elapsed = static_cast<double>(now_ns - updated_ns_);
  if (elapsed > 0)
    for (BlockGroup& group : groups_) group.remaining -= group.rate * elapsed;
  updated_ns_ = now_ns;
}

// Other blocks on the SM, and of the own kernel, press the lines of a block out of L1.
CacheSituation Sm::situation_of(const DeviceModel& device, const BlockGroup& group) const {
  const CacheDependence& caches = *group.run->cost.caches;
  CacheSituation where;
  where.blocks_on_sm = 0;
  for (const BlockGroup& other : groups_) {
    if (other.run == group.run) {
      where.blocks_on_sm += other.blocks;
    } else if (const CacheDependence* rival = other.run->cost.caches.get()) {
      where.on_sm.bytes += other.blocks * rival->accesses.first_bytes();
      where.on_sm.bytes_per_ns += other.blocks * rival->bytes_per_ns;
    }
  }
  const double l1 = static_cast<double>(device.memory.l1_bytes);
  where.l1_bytes = std::max(0.0, l1 - usage_.smem_bytes);
  where.blocks_on_device =
      std::min(caches.accesses.grid_blocks, where.blocks_on_sm * group.run->usable_sms);
  where.l2_bytes = static_cast<double>(device.spec.l2_bytes);
  where.bytes_per_ns = caches.bytes_per_ns;
  where.on_device = group.run->on_l2;
  return where;
}

void Sm::find_cost(const DeviceModel& device, BlockGroup& group) {
  KernelRun& run = *group.run;
  const CacheDependence* caches = run.cost.caches.get();
  if (caches == nullptr || (!caches->on_l1 && (!caches->on_l2 || run.on_l2.bytes <= 0))) return;
  const CacheSituation where = situation_of(device, group);
  if (!run.situation_known || run.known_situation != where) {
    run.known_cost = cost_in(device, *caches, where);
    run.known_situation = where;
    run.situation_known = true;
  }
  group.cost = run.known_cost;
}

void Sm::find_costs(const DeviceModel& device) {
  for (BlockGroup& group : groups_) find_cost(device, group);
}

void Sm::measure_demands() {
  dram_demand_ = l2_demand_ = 0;
  for (const BlockGroup& group : groups_) {
    dram_demand_ += group.blocks * group.rate * group.cost.dram_bytes;
    l2_demand_ += group.blocks * group.rate * group.cost.l2_ns;
  }
}

void Sm::limit_pipe(unsigned pipe) {
  share(groups_, 1.0, [pipe](const BlockGroup& group) { return group.cost.pipe_ns[pipe]; });
}

std::array<double, kPipeCount> Sm::pipe_loads() const {
  std::array<double, kPipeCount> loads{};
  for (const BlockGroup& group : groups_) {
    const double rate = group.blocks * group.rate;
    for (unsigned pipe = 0; pipe < kPipeCount; ++pipe)
      loads[pipe] += rate * group.cost.pipe_ns[pipe];
  }
  return loads;
}

// Limiting one pipe only lowers the load of the others, so one round is enough.
void Sm::limit_pipes() {
  auto loads = pipe_loads();
  for (unsigned pipe = 0; pipe < kPipeCount; ++pipe) {
    if (loads[pipe] <= 1.0) continue;
    limit_pipe(pipe);
    loads = pipe_loads();
  }
}

void Sm::limit_memory() {
  share(groups_, limits_.l2, [](const BlockGroup& group) { return group.cost.l2_ns; });
  share(groups_, limits_.dram_bytes_per_ns,
        [](const BlockGroup& group) { return group.cost.dram_bytes; });
}

void Sm::set_rates(const DeviceModel& device, uint64_t now_ns, const SmLimits& limits) {
  if (dirty) find_costs(device);
  for (BlockGroup& group : groups_) group.rate = 1.0 / group.cost.alone_ns;
  limit_pipes();
  measure_demands();
  limits_ = limits;
  if (dram_demand_ > limits.dram_bytes_per_ns || l2_demand_ > limits.l2) {
    limit_memory();
    // Blocks that wait for memory leave issue slots to the others.
    if (groups_.size() > 1) {
      for (BlockGroup& group : groups_)
        if (group.cost.dram_bytes <= 0 && group.cost.l2_ns <= 0)
          group.rate = 1.0 / group.cost.alone_ns;
      limit_pipes();
    }
  }
  schedule_end(now_ns);
  dirty = false;
}

void Sm::schedule_end(uint64_t now_ns) {
  double soonest = std::numeric_limits<double>::infinity();
  for (const BlockGroup& group : groups_)
    if (group.rate > 0) soonest = std::min(soonest, std::max(group.remaining, 0.0) / group.rate);
  // At least a nanosecond ahead, or rounding could let time stand still.
  next_end_ns_ = on_tick(static_cast<double>(now_ns) + std::max(soonest, 1.0));
}

bool Sm::retire(uint64_t now_ns) {
  if (next_end_ns_ > now_ns) return false;
  advance(now_ns);
  const auto ended =
      std::remove_if(groups_.begin(), groups_.end(), [this](const BlockGroup& group) {
        if (group.remaining > kDone) return false;
        release(group);
        return true;
      });
  const bool any = ended != groups_.end();
  groups_.erase(ended, groups_.end());
  if (!any) schedule_end(now_ns);
  return any;
}

void Sm::remove_client(uint32_t client) {
  std::erase_if(groups_, [this, client](const BlockGroup& group) {
    if (group.run->client != client) return false;
    release(group);
    return true;
  });
}

uint32_t Sm::threads_of(uint32_t client) const {
  uint32_t threads = 0;
  for (const BlockGroup& group : groups_)
    if (group.run->client == client) threads += group.blocks * group.run->cost.threads;
  return threads;
}

}  // namespace gacer::simdevice
