// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/simdevice/driver/proc_address.h"

namespace gacer::simdriver {
namespace {

const ProcRow kRows[] = {
    {"cuCopy", 2000, false, "cuCopy", nullptr},
    {"cuCopy", 3020, false, "cuCopy_v2", nullptr},
    {"cuCopy", 7000, true, "cuCopy_v2_ptds", nullptr},
    {"cuPlain", 11040, false, "cuPlain", nullptr},
    {"cuWait", 8000, false, "cuWait", nullptr},
    {"cuWait", 8000, true, "cuWait_ptsz", nullptr},
    {"cuWait", 11070, false, "cuWait_v2", nullptr},
    {"cuWait", 11070, true, "cuWait_v2_ptsz", nullptr},
};

std::string symbol(std::string_view name, int version, bool per_thread) {
  const ProcResult result = find_proc(kRows, name, version, per_thread);
  return result.row == nullptr ? "" : result.row->symbol;
}

TEST(ProcLookup, PicksTheNewestFormTheVersionHad) {
  EXPECT_EQ(symbol("cuCopy", 3010, false), "cuCopy");
  EXPECT_EQ(symbol("cuCopy", 3020, false), "cuCopy_v2");
  EXPECT_EQ(symbol("cuCopy", 13000, false), "cuCopy_v2");
  EXPECT_EQ(symbol("cuWait", 11060, false), "cuWait");
  EXPECT_EQ(symbol("cuWait", 11070, false), "cuWait_v2");
}

TEST(ProcLookup, PerThreadFormsWhereThereAreSome) {
  EXPECT_EQ(symbol("cuCopy", 12000, true), "cuCopy_v2_ptds");
  EXPECT_EQ(symbol("cuCopy", 4000, true), "cuCopy_v2");
  EXPECT_EQ(symbol("cuWait", 11060, true), "cuWait_ptsz");
  EXPECT_EQ(symbol("cuWait", 12000, true), "cuWait_v2_ptsz");
  EXPECT_EQ(symbol("cuPlain", 12000, true), "cuPlain");
}

TEST(ProcLookup, SaysWhyNot) {
  EXPECT_EQ(find_proc(kRows, "cuNothing", 13000, false).status, ProcStatus::kNoSuchName);
  EXPECT_EQ(find_proc(kRows, "cuCopy_v2", 13000, false).status, ProcStatus::kNoSuchName);
  EXPECT_EQ(find_proc(kRows, "", 13000, false).status, ProcStatus::kNoSuchName);
  EXPECT_EQ(find_proc(kRows, "cuPlain", 11030, false).status, ProcStatus::kVersionTooOld);
}

}  // namespace
}  // namespace gacer::simdriver
