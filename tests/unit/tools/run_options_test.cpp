// SPDX-License-Identifier: Apache-2.0
#include "tools/run_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

namespace gacer::tools {
namespace {

TEST(RunOptions, AreReadUpToTheDashes) {
  const RunOptions options =
      parse_run({"--name",     "bert", "--class",  "latency", "--mem",    "2G", "--weight",    "4",
                 "--priority", "-3",   "--policy", "fair",    "--socket", "/s", "--no-daemon", "--",
                 "python3",    "a.py", "--name",   "x",       "--",       "y"});
  EXPECT_EQ(options.name, "bert");
  EXPECT_EQ(options.tenant_class, "latency");
  EXPECT_EQ(options.memory_limit_bytes, 2ull << 30);
  EXPECT_EQ(options.weight, 4u);
  EXPECT_EQ(options.priority, -3);
  EXPECT_EQ(options.policy, "fair");
  EXPECT_FALSE(options.start_daemon);
  EXPECT_EQ(options.command, (Arguments{"python3", "a.py", "--name", "x", "--", "y"}));
}

TEST(RunOptions, EndAtTheProgramWhereThereAreNoDashes) {
  const RunOptions options = parse_run({"--weight=2", "python3", "a.py", "--weight", "7"});
  EXPECT_EQ(options.weight, 2u);
  EXPECT_EQ(options.command, (Arguments{"python3", "a.py", "--weight", "7"}));
}

TEST(RunOptions, DashesOfTheProgramStayItsOwn) {
  EXPECT_EQ(parse_run({"git", "log", "--", "f"}).command, (Arguments{"git", "log", "--", "f"}));
}

TEST(RunOptions, TheDefaultNameIsTheProgramsAndThePid) {
  EXPECT_EQ(parse_run({"/usr/bin/python3"}).name, "python3-" + std::to_string(getpid()));
  EXPECT_LE(parse_run({std::string(200, 'x')}).name.size(), 63u);
}

TEST(RunOptions, ARelativeSocketBecomesAbsolute) {
  EXPECT_EQ(parse_run({"--socket", "s", "ls"}).socket_path[0], '/');
}

TEST(RunOptions, BadWordsAreUsageErrors) {
  const Arguments rows[] = {
      {},
      {"--"},
      {"--bogus", "ls"},
      {"--mem", "lots", "ls"},
      {"--mem", "0", "ls"},
      {"--name", "", "ls"},
      {"--name", std::string(64, 'x'), "ls"},
      {"--name", "a\nb", "ls"},
      {"--class", "best", "ls"},
      {"--weight", "0", "ls"},
      {"--weight", "1001", "ls"},
      {"--weight", "many", "ls"},
      {"--priority", "1001", "ls"},
      {"--class"},
  };
  for (const Arguments& row : rows) {
    const std::string first =
        row.empty() ? "(none)" : row[0] + " " + (row.size() > 1 ? row[1] : "");
    try {
      parse_run(row);
      ADD_FAILURE() << "accepted: " << first;
    } catch (const ToolError& error) {
      EXPECT_EQ(error.code(), kExitUsage) << first;
    } catch (const CLI::ParseError& error) {
      EXPECT_NE(error.get_exit_code(), 0) << first;
    }
  }
}

TEST(RunEnvironment, CarriesEveryOption) {
  RunOptions options;
  options.socket_path = "/s";
  options.name = "n";
  options.tenant_class = "latency";
  options.memory_limit_bytes = 77;
  options.weight = 5;
  options.priority = -6;
  const std::map<std::string, std::string> expected{{"LD_PRELOAD", "/shim.so:/other.so"},
                                                    {"GACER_SOCKET", "/s"},
                                                    {"GACER_TENANT", "n"},
                                                    {"GACER_CLASS", "latency"},
                                                    {"GACER_MEM", "77"},
                                                    {"GACER_WEIGHT", "5"},
                                                    {"GACER_PRIORITY", "-6"}};
  EXPECT_EQ(run_environment(options, "/shim.so", "/other.so"), expected);
}

TEST(RunEnvironment, WithoutAQuotaNoneIsInherited) {
  EXPECT_EQ(run_environment({}, "/shim.so", "").at("GACER_MEM"), "");
}

}  // namespace
}  // namespace gacer::tools
