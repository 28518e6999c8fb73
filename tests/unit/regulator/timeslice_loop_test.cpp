// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/regulator/device_loop.h"

namespace gacer::regulator::test {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kRunNs = 10'000 * kMs;

HostSpec host(const std::string& name, uint64_t kernel_ns, uint32_t weight = 1) {
  HostSpec spec;
  spec.name = name;
  spec.weight = weight;
  spec.request.assign(50, {kernel_ns, kernel_ns});
  spec.synchronises = false;
  return spec;
}

LoopResult run(std::vector<HostSpec> hosts) {
  LoopSpec spec;
  spec.policy = "timeslice";
  spec.device_priority = false;
  spec.hosts = std::move(hosts);
  spec.run_ns = kRunNs;
  return run_loop(spec);
}

double share(const LoopResult& result, const std::string& name) {
  return static_cast<double>(result.hosts.at(name).device_ns) / static_cast<double>(kRunNs);
}

TEST(TimesliceLoop, EqualWeightsGetEqualTimeWhateverTheirKernels) {
  const LoopResult result = run({host("short", 30 * kUs), host("long", 900 * kUs)});
  EXPECT_NEAR(share(result, "short"), 0.5, 0.05);
  EXPECT_NEAR(share(result, "long"), 0.5, 0.05);
}

TEST(TimesliceLoop, WeightsScaleTheQuantum) {
  const LoopResult result = run({host("one", 100 * kUs, 1), host("three", 100 * kUs, 3)});
  EXPECT_NEAR(share(result, "three") / share(result, "one"), 3, 0.4);
  EXPECT_GE(share(result, "one") + share(result, "three"), 0.9);
}

TEST(TimesliceLoop, ADrainLongerThanTheQuantumIsPaidBack) {
  const LoopResult result = run({host("short", 100 * kUs), host("huge", 25 * kMs)});
  EXPECT_NEAR(share(result, "huge"), 0.5, 0.15);
}

TEST(TimesliceLoop, AnIdleTenantsTimeIsUsedByTheOther) {
  HostSpec brief = host("brief", 100 * kUs);
  brief.last_request_ns = 1'000 * kMs;
  brief.synchronises = true;
  const LoopResult result = run({brief, host("steady", 100 * kUs)});
  EXPECT_GE(static_cast<double>(result.device_busy_ns), 0.95 * static_cast<double>(kRunNs));
  EXPECT_GE(share(result, "steady"), 0.9);
}

TEST(TimesliceLoop, NobodyWaitsMuchLongerThanTheOthersTurns) {
  const LoopResult result = run({host("a", 100 * kUs), host("b", 100 * kUs), host("c", 100 * kUs)});
  for (const auto& [name, each] : result.hosts) {
    EXPECT_LE(each.longest_wait_ns, 3 * 12 * kMs) << name;
    EXPECT_EQ(each.deadline_releases, 0u) << name;
  }
}

}  // namespace
}  // namespace gacer::regulator::test
