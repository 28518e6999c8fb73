// SPDX-License-Identifier: Apache-2.0
// One attached process as the daemon sees it: its segment, read with distrust and written by the
// rules of runtime/abi/segment_layout.h. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/abi/segment_layout.h"
#include "runtime/base/result.h"
#include "runtime/daemon/coverage_totals.h"
#include "runtime/regulator/regulator.h"
#include "runtime/shm/launch_ring.h"
#include "runtime/shm/memory_segment.h"

namespace gacer::daemon {

// Sums over a process's life as last read; they never go back.
struct ProgressCounters {
  uint64_t launches = 0;
  uint64_t waits = 0;
  uint64_t wait_ns = 0;
  uint64_t deadline_releases = 0;
  uint64_t dropped_records = 0;
  uint64_t unregulated = 0;
  std::array<uint64_t, abi::kReasonCount> wait_ns_by_reason{};

  void add(const ProgressCounters& other);
};

struct ProcessIdentity {
  uint64_t process_id = 0;  // ours, never reused
  uint64_t tenant_id = 0;
  pid_t pid = 0;
  uint64_t start_time_ticks = 0;
  std::string executable;
};

class TenantProcess {
 public:
  // Creates and formats the segment.
  static Result<std::unique_ptr<TenantProcess>> create(ProcessIdentity identity);

  // Appends at most `limit` checked launches; true when there may be more.
  bool drain(uint64_t now_ns, uint32_t limit, std::vector<regulator::LaunchEvent>& launches);

  // Copies and checks counters and stream slots. The reference holds until the next call.
  const regulator::ProgressEvent& collect();

  // Copies and checks the coverage counts; only when somebody wants to see them.
  void read_coverage() { forged_values_ += coverage_.read(segment().coverage); }
  CoverageTotals coverage() const { return coverage_.totals(); }

  // One decision, in the order of segment_layout.h; wakes waiting threads.
  void apply(const regulator::GateDecision& gate, uint64_t generation);
  void set_cost(uint32_t cost_slot, uint32_t cost_ns);
  void set_generation(uint64_t generation);
  void set_memory_limit(uint64_t bytes);
  // Lets threads look again when work completed while they wait: nobody else wakes them for that.
  void nudge_if_progressed();
  // The last decision: pass through, attach again later.
  void detach();

  const ProcessIdentity& identity() const { return identity_; }
  const ProgressCounters& counters() const { return counters_; }
  uint64_t in_flight_ns() const { return in_flight_ns_; }
  uint64_t forged_values() const { return forged_values_; }
  uint64_t skipped_records() const { return ring_.skipped(); }
  int segment_fd() const { return memory_.fd(); }
  void close_segment_fd() { memory_.close_fd(); }

 private:
  TenantProcess(ProcessIdentity identity, shm::MemorySegment memory);
  abi::Segment& segment() { return *static_cast<abi::Segment*>(memory_.data()); }
  void keep_memory_limit();
  void copy_counters();
  void collect_streams();
  void publish();  // the end of a decision: sequence, then wake
  uint64_t grown(uint64_t last, const std::atomic<uint64_t>& word);

  ProcessIdentity identity_;
  shm::MemorySegment memory_;
  shm::LaunchRingReader ring_;
  regulator::ProgressEvent progress_;
  ProgressCounters counters_;
  CoverageReader coverage_;
  uint64_t in_flight_ns_ = 0;
  uint64_t completed_ns_ = 0;
  uint64_t nudged_completed_ns_ = 0;
  uint64_t forged_values_ = 0;
  uint64_t memory_limit_bytes_ = 0;  // as we have written it
};

}  // namespace gacer::daemon
