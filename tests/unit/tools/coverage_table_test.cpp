// SPDX-License-Identifier: Apache-2.0
#include "tools/coverage_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gacer::tools {
namespace {

using nlohmann::json;

const json kNothing = {
    {"functions", json::array()}, {"unknown", json::array()}, {"unknown_beyond", 0}};

TEST(CoverageTable, SaysSoWhenThereIsNothing) {
  const json status = {{"tenants", {{{"name", "a"}, {"coverage", kNothing}}}},
                       {"coverage_of_ended_tenants", kNothing}};
  EXPECT_EQ(coverage_table(status), "every launch and allocation that was seen is regulated\n");
}

TEST(CoverageTable, STR_03_NamesFunctionsStreamsAndTenants) {
  const json mine = {{"functions",
                      {{{"name", "cuMemAlloc"},
                        {"kind", "allocation"},
                        {"stream", "none"},
                        {"calls", 12},
                        {"before_attach", 3}}}},
                     {"unknown", {{{"name", "cuLaunchNext"}, {"calls", 7}, {"handed_out", 2}}}},
                     {"unknown_beyond", 0}};
  const json status = {{"tenants", {{{"name", "bert"}, {"coverage", mine}}}},
                       {"coverage_of_ended_tenants", mine}};
  const std::string text = coverage_table(status);
  EXPECT_NE(text.find("bert     cuMemAlloc    allocation  none       12              3"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(ended)  cuLaunchNext  unknown     ?           7              0"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace gacer::tools
