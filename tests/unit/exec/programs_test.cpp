// SPDX-License-Identifier: Apache-2.0
// Programs that use the toolkit's headers widely: what nvcc makes of them is understood to the last
// instruction, for several targets, with and without debug information. programs.txt lists the
// files that the build made.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/ptx/parser.h"
#include "runtime/ptx/printer.h"
#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

std::vector<std::string> programs() {
  std::ifstream list(std::string(GACER_PROGRAM_PTX) + "/programs.txt");
  std::vector<std::string> out;
  for (std::string name; std::getline(list, name);) out.push_back(name);
  return out;
}

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(GACER_PROGRAM_PTX) + "/" + name + ".ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Programs : public testing::TestWithParam<std::string> {};

TEST_P(Programs, AreUnderstood) {
  const std::string text = text_of(GetParam());
  ASSERT_GT(text.size(), 1000u);
  EXPECT_EQ(compile_error(text, 90), "");
}

TEST_P(Programs, SurviveParsingAndPrinting) {
  const auto once = ptx::parse(text_of(GetParam()));
  ASSERT_TRUE(once.ok()) << once.error().message;
  const auto twice = ptx::parse(ptx::print(*once));
  ASSERT_TRUE(twice.ok()) << twice.error().message;
  EXPECT_TRUE(*once == *twice);
}

// They meet in shared memory that the device reserves for cooperative groups.
TEST(CooperativeGroups, HaveTilesOfSeveralWarps) {
  Device device;
  const auto program = device.load(text_of("cooperative_80_O3"));
  ASSERT_NE(program, nullptr);
  const uint64_t out = device.allocate(256 * 4);
  const Fault fault = device.launch(*program, "wide_tiles", shape(1, 256), Params().add(out));
  ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  const auto got = device.download<int>(out, 256);
  for (int t = 0; t < 256; ++t) {
    const int first = t / 64 * 64, sum = 64 * first + 63 * 32;
    EXPECT_EQ(got[t], sum + (first + 3) * 1000 + (first == 64 ? 1 : 0)) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Toolkit, Programs, testing::ValuesIn(programs()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace gacer::simdevice::test
