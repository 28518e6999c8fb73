// SPDX-License-Identifier: Apache-2.0
// Programs that use the toolkit's headers widely: what nvcc makes of them is understood to the last instruction, for
// several targets, with and without debug information. programs.txt lists the files that the build made.
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

INSTANTIATE_TEST_SUITE_P(Toolkit, Programs, testing::ValuesIn(programs()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace gacer::simdevice::test
