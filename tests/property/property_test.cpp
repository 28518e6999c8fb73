// SPDX-License-Identifier: Apache-2.0
// With and without the shim a program sees the same: results, what calls hand out, the order of
// effects, memory, live objects. GACER_PROPERTY_SEED runs one seed, GACER_PROPERTY_COUNT another
// number of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/base/log.h"
#include "tests/property/runner.h"

namespace gacer::property {
namespace {

constexpr uint64_t kPrograms = 10'000;

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = getenv(variable);
  return text != nullptr ? strtoull(text, nullptr, 10) : otherwise;
}

// Drops what is not needed for the failure and says what is left.
std::string report(Crew& crew, const Program& program, const std::string& difference) {
  const Program small =
      shrink(program, [&](const Program& less) { return !crew.difference(less).empty(); });
  return difference + "\nsmallest program that still differs: " + describe(small) +
         crew.difference(small) + "\nagain: GACER_PROPERTY_SEED=" + std::to_string(program.seed);
}

TEST(Property, given_random_programs_when_run_with_and_without_the_shim_then_they_see_the_same) {
  set_log_level(LogLevel::kError);
  Crew crew;
  const uint64_t first = number_from("GACER_PROPERTY_SEED", 1);
  const bool one = getenv("GACER_PROPERTY_SEED") != nullptr;
  const uint64_t count = one ? 1 : number_from("GACER_PROPERTY_COUNT", kPrograms);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = make_program(seed, Mix::kAnything);
    const std::string difference = crew.difference(program);
    ASSERT_TRUE(difference.empty()) << report(crew, program, difference);
  }
  if (count >= kPrograms) {
    EXPECT_THAT(kinds_without_success(), testing::ElementsAre("(daemon)"));
  }
}

}  // namespace
}  // namespace gacer::property
