// SPDX-License-Identifier: Apache-2.0
// From what the probe writes to the verdict on each way of looking functions up.
#include "tools/doctor/lookup_checks.h"

#include <gtest/gtest.h>

#include "tools/doctor/hook_rows.h"

namespace gacer::tools::doctor {
namespace {

constexpr const char* kShim = "shim\t2\t/s/libgacer.so\n";

const Check& find(const Checks& checks, const std::string& name) {
  static const Check none;
  for (const Check& check : checks)
    if (check.name == name) return check;
  ADD_FAILURE() << "no check " << name;
  return none;
}

Check verdict(const std::string& lines, const std::string& name) {
  return find(lookup_checks(parse_probe_report(kShim + lines)), name);
}

TEST(HookRows, HoldTheLaunchInBothVariants) {
  ASSERT_NE(row_of_symbol("cuLaunchKernel_ptsz"), nullptr);
  EXPECT_EQ(row_of_base("cuLaunchKernel", 12000, true)->symbol, "cuLaunchKernel_ptsz");
  EXPECT_EQ(row_of_base("cuLaunchKernel", 12000, false)->symbol, "cuLaunchKernel");
  EXPECT_EQ(row_of_base("cuLaunchKernelEx", 11030, false), nullptr);
}

TEST(ProbeReport, BrokenLinesAreLeftOut) {
  const ProbeReport report =
      parse_probe_report("answer\tlink\nproc\t1\nshim\n\n\x01\x02\nanswer\tlink\ta\tb\tc\nend\n");
  EXPECT_EQ(report.symbols.size(), 1u);
  EXPECT_TRUE(report.procs.empty());
  EXPECT_TRUE(report.complete);
}

TEST(LookupChecks, TheShimsAnswersAreGood) {
  const Check check =
      verdict("answer\tlink\tcuLaunchKernel\t/s/libgacer.so\tcuLaunchKernel\n", "lookup-link");
  EXPECT_EQ(check.level, Level::kOk) << check.text;
  EXPECT_NE(check.text.find("1 of 1"), std::string::npos) << check.text;
}

TEST(LookupChecks, SYM_01_AnotherObjectsAnswerIsUnregulated) {
  const Check check = verdict(
      "answer\thandle\tcuLaunchKernel\t/d/libcuda.so.1\t-\n"
      "answer\thandle\tcuMemAlloc_v2\t/d/libcuda.so.1\t-\n",
      "lookup-dlopen");
  EXPECT_EQ(check.level, Level::kFail);
  EXPECT_EQ(check.details.size(), 2u);
  EXPECT_NE(check.text.find("/d/libcuda.so.1"), std::string::npos) << check.text;
}

TEST(LookupChecks, WithoutAShimNothingIsGood) {
  const auto report =
      parse_probe_report("answer\tlink\tcuLaunchKernel\t/d/libcuda.so.1\tcuLaunchKernel\n");
  EXPECT_EQ(find(lookup_checks(report), "lookup-link").level, Level::kFail);
}

TEST(LookupChecks, AFunctionThatOnlyKeepsStateIsAWarning) {
  const Check check = verdict("answer\tnext\tcuStreamCreate\t/d/libcuda.so.1\t-\n", "lookup-next");
  EXPECT_EQ(check.level, Level::kWarn) << check.text;
}

TEST(LookupChecks, AFunctionThatNobodyHasIsNoAnswer) {
  const Check check = verdict("answer\tdefault\tcuLaunchKernel\t-\t-\n", "lookup-default");
  EXPECT_EQ(check.level, Level::kOk);
  EXPECT_NE(check.text.find("nobody"), std::string::npos) << check.text;
}

std::string proc(const char* flag, int result, const char* owner, const char* drivers) {
  return std::string("proc\t2\t12000\t") + flag + "\tcuLaunchKernel\t" + std::to_string(result) +
         "\t" + owner + "\t" + drivers + "\n";
}
constexpr const char* kDrivers = "/d/libcuda.so.1\t-";

TEST(LookupChecks, SYM_04_TheVariantMustFitTheDefaultStream) {
  const char* legacy = "/s/libgacer.so\tcuLaunchKernel";
  EXPECT_EQ(verdict(proc("legacy", 0, legacy, kDrivers), "lookup-proc-v2").level, Level::kOk);
  EXPECT_EQ(verdict(proc("per-thread", 0, legacy, kDrivers), "lookup-proc-v2").level, Level::kFail);
}

TEST(LookupChecks, SYM_04_AnOlderDriversOwnMeaningIsRight) {
  const Check check = verdict(
      "proc\t2\t12030\tlegacy\tcuStreamBeginCapture\t0\t/s/libgacer.so\t"
      "cuStreamBeginCapture\t/d/libcuda.so.1\tcuStreamBeginCapture\n",
      "lookup-proc-v2");
  EXPECT_EQ(check.level, Level::kOk) << check.text;
}

TEST(LookupChecks, SYM_05_WhatTheShimHidesIsAWarning) {
  EXPECT_EQ(verdict(proc("legacy", 500, "-\t-", kDrivers), "lookup-proc-v2").level, Level::kWarn);
  EXPECT_EQ(verdict(proc("legacy", 500, "-\t-", "-\t-"), "lookup-proc-v2").level, Level::kOk);
}

TEST(LookupChecks, APartThatCouldNotBeLookedAtSaysWhy) {
  const Check check = verdict("error\tlink\tcannot open\n", "lookup-link");
  EXPECT_EQ(check.level, Level::kWarn);
  EXPECT_NE(check.text.find("cannot open"), std::string::npos);
}

TEST(MissingExports, STR_03_NewLaunchFunctionsFailOthersWarn) {
  const std::vector<std::string> shim{"cuInit", "cuLaunchKernel"};
  EXPECT_EQ(missing_exports_check({"cuInit", "other"}, shim).level, Level::kOk);
  EXPECT_EQ(missing_exports_check({"cuInit", "cuDeviceNext"}, shim).level, Level::kWarn);
  const Check check = missing_exports_check({"cuDeviceNext", "cuLaunchNext"}, shim);
  EXPECT_EQ(check.level, Level::kFail);
  EXPECT_NE(check.text.find("cuLaunchNext"), std::string::npos);
  EXPECT_EQ(check.details.size(), 2u);
}

}  // namespace
}  // namespace gacer::tools::doctor
