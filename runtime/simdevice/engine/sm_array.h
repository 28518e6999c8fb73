// SPDX-License-Identifier: Apache-2.0
// All SMs as one group of contexts sees them: kernels to be dispatched, blocks placed, DRAM shared.
// Groups that are time-sliced against each other have an array each, of which one moves at a time;
// a frozen one keeps its blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/simdevice/engine/memory_flows.h"
#include "runtime/simdevice/engine/sm.h"

namespace gacer::simdevice {

class SmArray {
 public:
  explicit SmArray(const DeviceModel& device);

  // Takes a kernel whose time to start has come.
  void add(std::unique_ptr<KernelRun> run);
  // Kernels and blocks of the client vanish.
  void remove_client(uint32_t client);
  // At most this many SMs hold blocks of the client at a time.
  void set_sm_cap(uint32_t client, uint32_t sms);

  // Places pending blocks: by priority, then arrival; each block on the SM with the fewest threads.
  void dispatch(uint64_t now_ns);
  // Divides DRAM and pipes after changes. `flows` share the DRAM.
  void settle(uint64_t now_ns, MemoryFlows& flows);
  // Ends what has ended by now_ns; kernels with no block left go to `done`.
  void retire(uint64_t now_ns, std::vector<std::unique_ptr<KernelRun>>& done);

  void freeze(uint64_t now_ns);
  void thaw(uint64_t now_ns);

  // A kernel that is queued behind one that ended will be added within the stream gap: the slice is
  // not given up.
  void expect_run() { ++expected_; }
  void unexpect_run() { --expected_; }
  bool has_work() const { return !runs_.empty() || expected_ > 0; }
  bool has_resident_blocks() const;
  uint64_t next_end_ns() const { return next_end_ns_; }
  const std::vector<Sm>& sms() const { return sms_; }
  const std::vector<std::unique_ptr<KernelRun>>& runs() const { return runs_; }
  // Threads of the client over all threads of the device.
  double thread_share(uint32_t client) const;

 private:
  void place_run(KernelRun& run, uint64_t now_ns);
  void find_room(const KernelRun& run);
  void apply_sm_cap(const KernelRun& run);
  void spread(uint64_t blocks, uint32_t threads);
  bool spread_evenly(uint64_t blocks);
  uint64_t count_up_to(uint32_t level, uint32_t threads) const;
  void find_next_end(const MemoryFlows& flows);
  void mark_freed(uint32_t sm);
  void set_usable_sms(KernelRun& run) const;
  void find_rivals();
  void press(KernelRun& run, const CacheRivals& rivals);
  double collect_demands(uint64_t now_ns, const MemoryFlows& flows);
  SmLimits find_limits(uint64_t now_ns, const MemoryFlows& flows);

  struct Candidate {
    uint32_t sm = 0;
    uint32_t room = 0;
    uint32_t load = 0;  // resident threads
    uint32_t take = 0;
  };

  const DeviceModel& device_;
  const DeviceSpec& spec_;
  std::vector<Sm> sms_;
  std::vector<std::unique_ptr<KernelRun>> runs_;  // by priority, then arrival
  std::unordered_map<uint32_t, uint32_t> sm_caps_;
  std::vector<uint32_t> freed_;  // SMs with new room since the last dispatch, each once
  std::vector<bool> is_freed_;
  std::vector<Candidate> candidates_;
  std::vector<Demand> demands_, l2_demands_;
  uint64_t next_end_ns_ = kNever;
  double dram_capacity_;
  bool new_runs_ = false;
  bool runs_changed_ = false;
  int expected_ = 0;
};

}  // namespace gacer::simdevice
