// SPDX-License-Identifier: Apache-2.0
#include "tools/text_table.h"

#include <gtest/gtest.h>

namespace gacer::tools {
namespace {

TEST(TextTable, AlignsWordsLeftAndNumbersRight) {
  EXPECT_EQ(format_table({{"NAME", "N", "NOTE"}, {"a", "1.5", "x"}, {"longer", "20", ""}}),
            "NAME    N    NOTE\n"
            "a       1.5  x\n"
            "longer   20  \n");
}

TEST(TextTable, NoRowsNoText) {
  EXPECT_EQ(format_table({}), "");
}

}  // namespace
}  // namespace gacer::tools
