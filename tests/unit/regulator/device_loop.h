// SPDX-License-Identifier: Apache-2.0
// A tiny GPU, its tenants' hosts with the gate as the shim applies it, and the daemon's poll loop
// around a real Regulator, all on virtual time. The GPU runs one kernel at a time and never
// preempts it: the worst case for a latency tenant, whose wait then is whole kernels. Deterministic
// for a seed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "runtime/regulator/regulator.h"

namespace gacer::regulator::test {

struct KernelSpec {
  uint64_t id = 0;
  uint64_t duration_ns = 0;
};

struct HostSpec {
  std::string name;
  TenantClass tenant_class = TenantClass::kBatch;
  uint32_t weight = 1;
  std::vector<KernelSpec> request;  // launched back to back, then synchronised
  double arrivals_per_s = 0;        // Poisson; 0: closed loop
  uint64_t launch_ns = 4'000;       // host time of one launch
  uint64_t first_request_ns = 0;
  uint64_t last_request_ns = UINT64_MAX;
  bool synchronises = true;  // between requests
};

struct LoopSpec {
  std::string policy = "priority";
  std::vector<std::pair<std::string, std::string>> knobs;
  std::vector<HostSpec> hosts;
  uint64_t run_ns = 1'000'000'000;
  uint64_t seed = 1;
  bool device_priority = true;  // higher stream ranks first; else first come first served
  uint64_t daemon_jitter_ns = 30'000;
};

struct HostResult {
  std::vector<uint64_t> latencies_ns;  // arrival to end, in order of completion
  uint64_t device_ns = 0;              // kernel time completed
  uint64_t longest_wait_ns = 0;        // of one launch at the gate
  uint64_t deadline_releases = 0;
  std::map<uint64_t, uint32_t> costs_ns;  // by kernel id, as told to the tenant last
  uint64_t deepest_queue_ns = 0;          // device time queued at once
};

struct LoopResult {
  std::map<std::string, HostResult> hosts;
  uint64_t device_busy_ns = 0;
  uint64_t polls = 0;
};

LoopResult run_loop(const LoopSpec& spec);

uint64_t percentile(std::vector<uint64_t> values, double fraction);

}  // namespace gacer::regulator::test
