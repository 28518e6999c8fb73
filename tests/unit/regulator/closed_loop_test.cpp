// SPDX-License-Identifier: Apache-2.0
// The whole loop on a tiny GPU: a latency tenant with Poisson arrivals at half of its capacity
// beside a batch tenant in a closed loop. The targets are those of the demo.
#include <gtest/gtest.h>

#include "tests/unit/regulator/device_loop.h"

namespace gacer::regulator::test {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr uint64_t kMs = 1'000'000;

// 100 kernels of 20..60 us: 4 ms a request.
HostSpec latency_host() {
  HostSpec host;
  host.name = "latency";
  host.tenant_class = TenantClass::kLatency;
  for (uint64_t i = 0; i < 100; ++i) host.request.push_back({1 + i % 5, (20 + i % 5 * 10) * kUs});
  host.arrivals_per_s = 125;
  return host;
}

// 60 kernels of 50..450 us: 15 ms a request.
HostSpec batch_host(const std::string& name = "batch") {
  HostSpec host;
  host.name = name;
  for (uint64_t i = 0; i < 60; ++i) host.request.push_back({100 + i % 6, (50 + i % 6 * 80) * kUs});
  return host;
}

LoopResult run(std::vector<HostSpec> hosts, LoopSpec spec = {}) {
  spec.hosts = std::move(hosts);
  spec.run_ns = 20'000 * kMs;
  return run_loop(spec);
}

double p99_ns(const LoopResult& result) {
  return static_cast<double>(percentile(result.hosts.at("latency").latencies_ns, 0.99));
}

double alone_p99_ns() {
  static const double alone_ns = p99_ns(run({latency_host()}));
  return alone_ns;
}

double device_share(const LoopResult& result, const std::string& host) {
  return static_cast<double>(result.hosts.at(host).device_ns) / (20'000.0 * kMs);
}

LoopSpec without_device_priority() {
  LoopSpec spec;
  spec.device_priority = false;
  return spec;
}

TEST(ClosedLoop, LatencyKeepsItsTailAndBatchGetsTheRest) {
  const double batch_alone = device_share(run({batch_host()}), "batch");
  const LoopResult both = run({latency_host(), batch_host()});
  EXPECT_LE(p99_ns(both), 1.25 * alone_p99_ns());
  EXPECT_GE(device_share(both, "batch"), 0.45 * batch_alone);
}

TEST(ClosedLoop, TheSameWhereTheDeviceKnowsNoPriorities) {
  const LoopResult both = run({latency_host(), batch_host()}, without_device_priority());
  EXPECT_LE(p99_ns(both), 1.25 * alone_p99_ns());
  EXPECT_GE(device_share(both, "batch"), 0.45);
}

TEST(ClosedLoop, PassthroughShowsThatTheRegulatorIsWhatHelps) {
  LoopSpec spec = without_device_priority();
  spec.policy = "passthrough";
  EXPECT_GT(p99_ns(run({latency_host(), batch_host()}, spec)), 2 * alone_p99_ns());
}

TEST(ClosedLoop, ABatchTenantThatNeverSynchronisesIsHeldToItsWindow) {
  HostSpec stream = batch_host();
  stream.synchronises = false;
  const LoopResult both = run({latency_host(), stream}, without_device_priority());
  EXPECT_LE(p99_ns(both), 1.25 * alone_p99_ns());
  EXPECT_GE(device_share(both, "batch"), 0.45);
}

TEST(ClosedLoop, NoLaunchWaitsBeyondTheBound) {
  LoopSpec spec;
  spec.knobs = {{"max_wait_ms", "5"}};
  const LoopResult both = run({latency_host(), batch_host()}, spec);
  EXPECT_LE(both.hosts.at("batch").longest_wait_ns, 5 * kMs);
  EXPECT_GT(both.hosts.at("batch").deadline_releases, 0u);
  EXPECT_EQ(both.hosts.at("latency").longest_wait_ns, 0u);
}

TEST(ClosedLoop, ALoneBatchTenantLosesNothing) {
  EXPECT_GE(device_share(run({batch_host()}), "batch"), 0.99);
  HostSpec departing = latency_host();
  departing.last_request_ns = 1;  // attached, never works
  EXPECT_GE(device_share(run({departing, batch_host()}), "batch"), 0.99);
}

TEST(ClosedLoop, BatchIsUngatedAgainAfterLatencyFellSilent) {
  HostSpec latency = latency_host();
  latency.last_request_ns = 2'000 * kMs;
  const LoopResult both = run({latency, batch_host()});
  EXPECT_GE(device_share(both, "batch"), 0.93);
  EXPECT_GT(both.hosts.at("batch").deepest_queue_ns, 10 * kMs) << "beyond any window";
}

TEST(ClosedLoop, SeveralBatchTenantsShareByWeightAndLoseNoDeviceTime) {
  HostSpec light = batch_host("light"), heavy = batch_host("heavy");
  light.synchronises = heavy.synchronises = false;
  heavy.weight = 3;
  const LoopResult both = run({light, heavy}, without_device_priority());
  EXPECT_GE(device_share(both, "light") + device_share(both, "heavy"), 0.98);
  EXPECT_GT(device_share(both, "heavy"), 1.5 * device_share(both, "light"));
}

TEST(ClosedLoop, LatencyKeepsItsTailBesideFourBatchTenants) {
  std::vector<HostSpec> hosts = {latency_host()};
  for (const char* name : {"a", "b", "c", "d"}) hosts.push_back(batch_host(name));
  const LoopResult all = run(hosts, without_device_priority());
  EXPECT_LE(p99_ns(all), 1.25 * alone_p99_ns());
  EXPECT_GE(static_cast<double>(all.device_busy_ns), 0.95 * 20'000 * kMs);
}

TEST(ClosedLoop, CostsAreLearntWhileTenantsCompete) {
  const LoopResult both = run({latency_host(), batch_host()}, without_device_priority());
  const auto& costs = both.hosts.at("batch").costs_ns;
  double told = 0, real = 0;
  for (const KernelSpec& kernel : batch_host().request) {
    ASSERT_TRUE(costs.contains(kernel.id)) << kernel.id;
    const auto duration = static_cast<double>(kernel.duration_ns);
    EXPECT_NEAR(costs.at(kernel.id), duration, 0.25 * duration + 20e3) << kernel.id;
    told += costs.at(kernel.id);
    real += duration;
  }
  EXPECT_NEAR(told, real, 0.1 * real);
}

TEST(ClosedLoop, IsDeterministicForASeed) {
  const LoopResult first = run({latency_host(), batch_host()});
  const LoopResult second = run({latency_host(), batch_host()});
  EXPECT_EQ(first.hosts.at("latency").latencies_ns, second.hosts.at("latency").latencies_ns);
  EXPECT_EQ(first.polls, second.polls);
}

}  // namespace
}  // namespace gacer::regulator::test
