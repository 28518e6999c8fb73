// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/tenant_table.h"

#include <algorithm>
#include <cerrno>

#include "runtime/shm/segment_format.h"

namespace gacer::daemon {
namespace {

// Bounds one tenant's part of a round; what is left is read in the next one, which then comes at
// once.
constexpr uint32_t kLaunchesPerTick = 512;
constexpr uint64_t kShortestTickNs = 20'000;
// The board's heartbeat must be fresh within 100 ms whatever the core's idle interval is.
constexpr uint64_t kLongestTickNs = 50'000'000;
// Up to so many processes a round is cheap enough for each newcomer to have one of its own.
constexpr size_t kSmallCrowd = 32;
constexpr uint64_t kCrowdRoundNs = 5'000'000;

}  // namespace

Result<std::unique_ptr<TenantTable>> TenantTable::create(
    std::unique_ptr<regulator::Regulator> core) {
  auto board = shm::MemorySegment::create_published("gacer-board", sizeof(abi::Board));
  if (!board) return board.error();
  return std::unique_ptr<TenantTable>(new TenantTable(std::move(core), std::move(board).value()));
}

TenantTable::TenantTable(std::unique_ptr<regulator::Regulator> core, shm::MemorySegment memory)
    : core_(std::move(core)), board_memory_(std::move(memory)) {
  new_generation();
  shm::format_board(board());
}

Result<std::unique_ptr<TenantProcess>> TenantTable::make_process(uint64_t process_id,
                                                                 uint64_t tenant_id,
                                                                 const AttachRequest& request,
                                                                 pid_t pid) {
  ProcessIdentity identity;
  identity.process_id = process_id;
  identity.tenant_id = tenant_id;
  identity.pid = pid;
  identity.start_time_ticks = request.start_time_ticks;
  identity.executable = request.executable;
  return TenantProcess::create(std::move(identity));
}

Result<TenantProcess*> TenantTable::attach(const AttachRequest& request, uid_t uid, pid_t pid,
                                           uint64_t now_ns) {
  regulator::TenantConfig config = request.config;
  config.uid = uid;
  const uint64_t id = next_process_id_++;
  const auto tenant_id = core_->attach(id, config, request.device, now_ns);
  if (!tenant_id) return tenant_id.error();
  auto process = make_process(id, *tenant_id, request, pid);
  if (!process) {
    core_->detach(id, now_ns);
    return process.error();
  }
  ++tenants_[*tenant_id].processes;
  ledger_.add_process(id, *tenant_id, config.memory_limit_bytes, request.memory_in_use_bytes,
                      request.device_uuid);
  settle_lingering(config, *tenant_id, pid);
  (*process)->set_memory_limit(ledger_.usage_of_tenant(*tenant_id).tenant_limit_bytes);
  TenantProcess* result = process->get();
  processes_[id] = std::move(process).value();
  receive(*result, config.tenant_class, now_ns);
  return result;
}

void TenantTable::receive(TenantProcess& process, regulator::TenantClass tenant_class,
                          uint64_t now_ns) {
  // Decided before the tenant can map it: its first launch already meets a valid gate.
  if (processes_.size() <= kSmallCrowd) return tick(now_ns);
  // In a crowd a round costs more than the handshake: newcomers share the next one.
  if (core_->latency_active() && tenant_class == regulator::TenantClass::kBatch) {
    regulator::GateDecision gate;
    gate.mode = regulator::GateMode::kClosed;
    gate.reason = regulator::HoldReason::kLatencyActive;
    gate.max_wait_ns = kCrowdRoundNs;
    process.apply(gate, core_->generation());
  }
  tick_soon(now_ns);
}

void TenantTable::tick_soon(uint64_t now_ns) {
  const bool crowd = processes_.size() > kSmallCrowd;
  next_tick_ns_ = std::min(next_tick_ns_, crowd ? now_ns + kCrowdRoundNs : now_ns);
}

void TenantTable::detach(uint64_t process_id, uint64_t now_ns, bool lives_on) {
  const auto found = processes_.find(process_id);
  if (found == processes_.end()) return;
  TenantProcess& process = *found->second;
  const auto tenant = tenants_.find(process.identity().tenant_id);
  // It may live on, with its socket closed by its host: it must not go on in a segment that nobody
  // reads.
  process.detach();
  process.collect();
  tenant->second.ended.add(process.counters());
  process.read_coverage();
  tenant->second.ended_coverage.add(process.coverage());
  if (--tenant->second.processes == 0) {
    ended_coverage_.add(tenant->second.ended_coverage);
    tenants_.erase(tenant);
  }
  if (lives_on) linger(process.identity());
  core_->detach(process_id, now_ns);
  if (lingering_.count(process_id) == 0) ledger_.remove_process(process_id);
  processes_.erase(found);
  tick_soon(now_ns);
  write_board(now_ns);
}

// Before the core forgets the tenant.
void TenantTable::linger(const ProcessIdentity& identity) {
  if (identity.pid <= 0 || ledger_.used_by_process(identity.process_id) == 0) return;
  for (const auto& tenant : core_->snapshot().tenants)
    if (tenant.tenant_id == identity.tenant_id)
      lingering_[identity.process_id] = {identity.pid, tenant.config.name, tenant.config.uid};
}

void TenantTable::ended(uint64_t process_id) {
  if (lingering_.erase(process_id) != 0) ledger_.remove_process(process_id);
}

// A process of that tenant has attached.
void TenantTable::settle_lingering(const regulator::TenantConfig& config, uint64_t tenant_id,
                                   pid_t pid) {
  for (auto it = lingering_.begin(); it != lingering_.end();) {
    const auto& [process_id, process] = *it;
    const bool back = process.pid == pid;
    const bool same_tenant = process.tenant == config.name && process.uid == config.uid;
    if (back)
      ledger_.remove_process(process_id);
    else if (same_tenant && ledger_.tenant_of(process_id) != tenant_id)
      ledger_.move_process(process_id, tenant_id);
    it = back ? lingering_.erase(it) : std::next(it);
  }
}

void TenantTable::detach_all(uint64_t now_ns) {
  while (!processes_.empty()) detach(processes_.begin()->first, now_ns);
}

MemoryAnswer TenantTable::reserve_memory(uint64_t process_id, const abi::DeviceUuid& device,
                                         uint64_t bytes, abi::MemoryKind kind) {
  return ledger_.reserve(process_id, bytes, device, kind);
}

void TenantTable::release_memory(uint64_t process_id, const abi::DeviceUuid& device, uint64_t bytes,
                                 abi::MemoryKind kind) {
  ledger_.release(process_id, bytes, device, kind);
}

// 0: none.
uint64_t TenantTable::tenant_named(std::string_view name, uid_t uid) const {
  for (const auto& tenant : core_->snapshot().tenants)
    if (tenant.config.name == name && tenant.config.uid == uid) return tenant.tenant_id;
  return 0;
}

MemoryAnswer TenantTable::query_memory(std::string_view tenant, uid_t uid,
                                       const abi::DeviceUuid& device) const {
  const uint64_t id = tenant_named(tenant, uid);
  MemoryAnswer answer = ledger_.usage_on_device(id, device);
  answer.granted = ledger_.knows_tenant(id);
  return answer;
}

Status TenantTable::set_memory_limit(std::string_view tenant, uid_t uid, uint64_t bytes) {
  const uint64_t id = tenant_named(tenant, uid);
  if (!ledger_.knows_tenant(id))
    return Error{ENOENT, "no tenant " + std::string(tenant) + " is attached"};
  ledger_.set_limit(id, bytes);
  for (auto& [process_id, process] : processes_)
    if (process->identity().tenant_id == id) process->set_memory_limit(bytes);
  return {};
}

void TenantTable::tick(uint64_t now_ns) {
  const bool backlog = read_tenants(now_ns);
  write_decisions(now_ns);
  write_board(now_ns);
  const uint64_t soonest_ns = now_ns + kShortestTickNs;
  const uint64_t wanted_ns = backlog ? soonest_ns : core_->next_wakeup_ns(now_ns);
  next_tick_ns_ = std::clamp(wanted_ns, soonest_ns, now_ns + kLongestTickNs);
}

bool TenantTable::read_tenants(uint64_t now_ns) {
  bool backlog = false;
  for (auto& [id, process] : processes_) {
    launches_.clear();
    backlog |= process->drain(now_ns, kLaunchesPerTick, launches_);
    for (const regulator::LaunchEvent& launch : launches_) core_->on_launch(id, launch);
    core_->on_progress(id, process->collect(), now_ns);
  }
  return backlog;
}

void TenantTable::write_decisions(uint64_t now_ns) {
  gates_.clear();
  costs_.clear();
  core_->decide(now_ns, gates_, costs_);
  for (const regulator::KernelCost& cost : costs_)
    if (const auto found = processes_.find(cost.process); found != processes_.end())
      found->second->set_cost(cost.cost_slot, cost.cost_ns);
  for (const regulator::ProcessDecision& decision : gates_)
    if (const auto found = processes_.find(decision.process); found != processes_.end())
      found->second->apply(decision.gate, core_->generation());
  for (auto& [id, process] : processes_) process->nudge_if_progressed();
}

void TenantTable::write_board(uint64_t now_ns) {
  abi::Board& words = board();
  words.tenants.store(static_cast<uint32_t>(tenants_.size()), std::memory_order_relaxed);
  words.latency_active.store(core_->latency_active() ? 1 : 0, std::memory_order_relaxed);
  words.heartbeat_ns.store(now_ns, std::memory_order_relaxed);
}

void TenantTable::new_generation() {
  next_tick_ns_ = 0;
  board().policy.store(core_->policy_index(), std::memory_order_relaxed);
  for (auto& [id, process] : processes_) process->set_generation(core_->generation());
}

Status TenantTable::set_policy(std::string_view name) {
  Status done = core_->set_policy(name);
  if (done) new_generation();
  return done;
}

Status TenantTable::tune(std::string_view key, std::string_view value) {
  Status done = core_->tune(key, value);
  if (done) new_generation();
  return done;
}

const TenantProcess* TenantTable::find(uint64_t process_id) const {
  const auto found = processes_.find(process_id);
  return found == processes_.end() ? nullptr : found->second.get();
}

ProgressCounters TenantTable::counters_of(uint64_t tenant_id) const {
  ProgressCounters sum;
  if (const auto found = tenants_.find(tenant_id); found != tenants_.end())
    sum = found->second.ended;
  for (const auto& [id, process] : processes_)
    if (process->identity().tenant_id == tenant_id) sum.add(process->counters());
  return sum;
}

void TenantTable::read_coverage() {
  for (auto& [id, process] : processes_) process->read_coverage();
}

CoverageTotals TenantTable::coverage_of(uint64_t tenant_id) const {
  CoverageTotals sum;
  if (const auto found = tenants_.find(tenant_id); found != tenants_.end())
    sum = found->second.ended_coverage;
  for (const auto& [id, process] : processes_)
    if (process->identity().tenant_id == tenant_id) sum.add(process->coverage());
  return sum;
}

}  // namespace gacer::daemon
