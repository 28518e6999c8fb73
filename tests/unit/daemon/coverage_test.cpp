// SPDX-License-Identifier: Apache-2.0
// Coverage words that a tenant writes, as the daemon reads, sums and shows them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/daemon/admin.h"
#include "runtime/daemon/coverage_json.h"

namespace gacer::daemon {
namespace {

using nlohmann::json;

constexpr auto kLaunch = static_cast<uint32_t>(abi::CoveredFunction::k_cuLaunchKernel);
constexpr auto kAlloc = static_cast<uint32_t>(abi::CoveredFunction::k_cuMemAlloc);
constexpr auto kLegacy = static_cast<uint32_t>(abi::CoverageStream::kLegacy);
constexpr auto kNone = static_cast<uint32_t>(abi::CoverageStream::kNoStream);

void write_unknown(abi::UnknownFunction& row, const char* name, uint64_t calls) {
  strncpy(row.name, name, sizeof row.name);
  row.calls.store(calls);
  row.named.store(1);
}

class CoverageWordsTest : public testing::Test {
 protected:
  json shown() {
    forged_ += reader_.read(*words_);
    return coverage_json(reader_.totals());
  }
  std::unique_ptr<abi::CoverageWords> words_ = std::make_unique<abi::CoverageWords>();
  CoverageReader reader_;
  uint64_t forged_ = 0;
};

TEST_F(CoverageWordsTest, NothingCountedIsNothingShown) {
  const json shown_now = shown();
  EXPECT_TRUE(shown_now.at("functions").empty());
  EXPECT_TRUE(shown_now.at("unknown").empty());
  EXPECT_EQ(reader_.totals().calls(), 0u);
}

TEST_F(CoverageWordsTest, NamesFunctionStreamAndBothCounts) {
  words_->attached.calls[kLaunch][kLegacy] = 3;
  words_->before_attach.calls[kLaunch][kLegacy] = 4;
  EXPECT_EQ(shown().at("functions"), json::array({{{"name", "cuLaunchKernel"},
                                                   {"kind", "launch"},
                                                   {"stream", "legacy"},
                                                   {"calls", 3},
                                                   {"before_attach", 4}}}));
  EXPECT_EQ(reader_.totals().calls(), 7u);
}

TEST_F(CoverageWordsTest, ACountThatShrinksIsForgedAndIgnored) {
  words_->attached.calls[kAlloc][kNone] = 9;
  shown();
  words_->attached.calls[kAlloc][kNone] = 2;
  EXPECT_EQ(shown().at("functions")[0].at("calls"), 9);
  EXPECT_EQ(forged_, 1u);
}

TEST_F(CoverageWordsTest, STR_03_UnknownFunctionsAreShownByName) {
  write_unknown(words_->unknown[0], "cuLaunchKernelNext", 6);
  EXPECT_EQ(shown().at("unknown"),
            json::array({{{"name", "cuLaunchKernelNext"}, {"calls", 6}, {"handed_out", 0}}}));
}

TEST_F(CoverageWordsTest, NamesThatAreNoneAreForged) {
  write_unknown(words_->unknown[0], "", 1);
  write_unknown(words_->unknown[1], "cu\x1b[31m", 1);
  write_unknown(words_->unknown[2], "rm -rf", 1);
  memset(words_->unknown[3].name, 'c', sizeof words_->unknown[3].name);
  words_->unknown[3].named.store(1);
  EXPECT_TRUE(shown().at("unknown").empty());
  EXPECT_EQ(forged_, 4u);
}

TEST_F(CoverageWordsTest, ANameKeepsWhatWasReadFirst) {
  write_unknown(words_->unknown[0], "cuLaunchA", 1);
  shown();
  write_unknown(words_->unknown[0], "cuLaunchB", 2);
  const json rows = shown().at("unknown");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("name"), "cuLaunchA");
  EXPECT_EQ(rows[0].at("calls"), 2);
}

TEST(CoverageTotals, MadeUpNamesDoNotPileUp) {
  CoverageTotals sum;
  for (int i = 0; i < 1000; ++i) {
    CoverageTotals one;
    one.unknown["cuLaunch" + std::to_string(i)].calls = 1;
    sum.add(one);
  }
  EXPECT_EQ(sum.unknown.size(), CoverageTotals::kMaxUnknownNames);
  EXPECT_EQ(sum.calls(), 1000u);
}

class TenantCoverage : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TenantTable::create(regulator::Regulator::create("priority"));
    ASSERT_TRUE(made.ok());
    table_ = std::move(made).value();
  }
  // A process of tenant "t" that has launched `calls` times past the gate.
  uint64_t attach_and_count(uint64_t calls) {
    AttachRequest request;
    request.config.name = "t";
    auto process = table_->attach(request, 0, 42, 1);
    EXPECT_TRUE(process.ok());
    auto memory = shm::MemorySegment::open(UniqueFd(dup((*process)->segment_fd())),
                                           sizeof(abi::Segment), shm::Access::kReadWrite);
    EXPECT_TRUE(memory.ok());
    auto& segment = *static_cast<abi::Segment*>(memory->data());
    segment.coverage.attached.calls[kLaunch][kLegacy] = calls;
    return (*process)->identity().process_id;
  }
  json status() {
    const std::string text = answer_admin("status", *table_, DaemonFacts{"/s", 5}).text;
    return json::parse(text.substr(3));
  }
  std::unique_ptr<TenantTable> table_;
};

TEST_F(TenantCoverage, IsSummedOverProcessesAndKeptWhenOneEnds) {
  const uint64_t first = attach_and_count(3);
  attach_and_count(4);
  EXPECT_EQ(status().at("tenants")[0].at("coverage").at("functions")[0].at("calls"), 7);
  table_->detach(first, 2);
  const json after = status();
  EXPECT_EQ(after.at("tenants")[0].at("coverage").at("functions")[0].at("calls"), 7);
  EXPECT_EQ(after.at("tenants")[0].at("processes")[0].at("coverage").at("functions")[0].at("calls"),
            4);
}

TEST_F(TenantCoverage, OfTenantsThatAreGoneIsKeptInTheTotal) {
  table_->detach(attach_and_count(5), 2);
  const json after = status();
  EXPECT_TRUE(after.at("tenants").empty());
  EXPECT_EQ(after.at("coverage_of_ended_tenants").at("functions")[0].at("calls"), 5);
}

}  // namespace
}  // namespace gacer::daemon
