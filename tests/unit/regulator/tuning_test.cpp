// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gacer::regulator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Tuning, DefaultsLieInTheirRanges) {
  for (const Regulator::Knob& knob : describe({})) {
    Tuning tuning;
    EXPECT_TRUE(set_knob(tuning, knob.key, knob.value)) << knob.key << "=" << knob.value;
    EXPECT_EQ(tuning, Tuning{}) << knob.key;
    EXPECT_FALSE(knob.unit.empty()) << knob.key;
    EXPECT_FALSE(knob.help.empty()) << knob.key;
  }
}

TEST(Tuning, AGoodValueIsOneNewGeneration) {
  const auto core = Regulator::create();
  const uint64_t before = core->generation();
  ASSERT_TRUE(core->tune("window_us", "500"));
  EXPECT_EQ(core->generation(), before + 1);
  ASSERT_TRUE(core->tune("window_us", "500"));
  EXPECT_EQ(core->generation(), before + 1) << "nothing changed";
  EXPECT_EQ(core->knobs()[0].value, "500");
}

TEST(Tuning, AnUnknownKeyNamesTheKnownOnes) {
  const auto core = Regulator::create();
  const Status status = core->tune("windw_us", "500");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("no knob 'windw_us'"), HasSubstr(" window_us ")));
}

TEST(Tuning, ABadValueSaysWhatIsLegalAndChangesNothing) {
  const auto core = Regulator::create();
  const uint64_t before = core->generation();
  for (const char* value :
       {"", "abc", "12x", " 12", "-1", "1.5", "9", "1000001", "99999999999999999999"}) {
    const Status status = core->tune("window_us", value);
    ASSERT_FALSE(status) << value;
    EXPECT_EQ(status.error().message, "tune: window_us='" + std::string(value) +
                                          "' is not a whole number in 10..1000000 (us)");
  }
  EXPECT_EQ(core->generation(), before);
  EXPECT_EQ(core->knobs()[0].value, "1000");
}

TEST(Policies, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_EQ(Regulator::create("fastest"), nullptr);
  const auto core = Regulator::create();
  const Status status = core->set_policy("fastest");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "policy: no policy 'fastest'; known: passthrough timeslice priority");
  EXPECT_EQ(core->snapshot().policy, "priority");
}

TEST(Policies, ASwitchIsOneNewGeneration) {
  const auto core = Regulator::create();
  const uint64_t before = core->generation();
  for (const std::string_view name : policy_names()) ASSERT_TRUE(core->set_policy(name));
  EXPECT_EQ(core->generation(), before + 3);
  EXPECT_EQ(core->policy_index(), 2u);
}

}  // namespace
}  // namespace gacer::regulator
