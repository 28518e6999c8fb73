// SPDX-License-Identifier: Apache-2.0
// Threads that really run beside each other, for the thread sanitizer: every call reaches the
// driver once and gets its answer, every launch is done once, and the shim makes no call that it
// must not make.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/log.h"
#include "tests/property/runner.h"

namespace gacer::property {
namespace {

constexpr uint64_t kRuns = 300;

TEST(PropertyConcurrency,
     given_free_threads_and_a_restless_daemon_then_each_call_gets_the_drivers_answer) {
  set_log_level(LogLevel::kError);
  for (uint64_t seed = 1; seed <= kRuns; ++seed) {
    SCOPED_TRACE(seed);
    const Program programs[kThreads] = {make_program(3 * seed, Mix::kIndependent),
                                        make_program(3 * seed + 1, Mix::kIndependent),
                                        make_program(3 * seed + 2, Mix::kIndependent)};
    const Outcome outcome = run_freely(programs);
    ASSERT_TRUE(outcome.violations.empty()) << outcome.violations.front();
    const auto done =
        std::count_if(outcome.effects.begin(), outcome.effects.end(),
                      [](const Effect& effect) { return effect.kind == Work::Kind::kKernel; });
    EXPECT_EQ(static_cast<uint64_t>(done), outcome.kernels);
  }
}

}  // namespace
}  // namespace gacer::property
