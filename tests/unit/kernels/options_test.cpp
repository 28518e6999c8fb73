// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/app/report.h"

namespace gacer::kernels {
namespace {

ParsedOptions parse(std::vector<const char*> words) {
  words.insert(words.begin(), "gacer-model");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(OptionsTest, DefaultsAreAHundredClosedRequests) {
  const ParsedOptions parsed = parse({"resnet50"});
  ASSERT_FALSE(parsed.stop) << parsed.text;
  EXPECT_EQ(parsed.options.model->name, std::string_view("resnet50"));
  EXPECT_EQ(parsed.options.requests, 100);
  EXPECT_EQ(parsed.options.shape.batch, 1);
  EXPECT_EQ(parsed.options.arrival.kind, ArrivalKind::kClosed);
}

TEST(OptionsTest, ReadsEverything) {
  const ParsedOptions parsed =
      parse({"bert-base", "--batch",   "4",          "--seconds",    "2.5", "--warmup",
             "7",         "--arrival", "poisson:20", "--seed",       "9",   "--stream-priority",
             "high",      "--graph",   "--checksum", "--json",       "-",   "--seq",
             "64",        "--layers",  "2",          "--start-file", "a",   "--stop-file",
             "b",         "--device",  "1"});
  ASSERT_FALSE(parsed.stop) << parsed.text;
  const Options& o = parsed.options;
  EXPECT_EQ(o.requests, 0);
  EXPECT_DOUBLE_EQ(o.seconds, 2.5);
  EXPECT_EQ(o.warmup, 7);
  EXPECT_DOUBLE_EQ(o.arrival.rate_per_s, 20.0);
  EXPECT_EQ(o.seed, 9u);
  EXPECT_EQ(o.priority, StreamPriority::kHigh);
  EXPECT_TRUE(o.graph && o.checksum);
  EXPECT_EQ(o.json_path, "-");
  EXPECT_EQ(o.shape.sequence, 64);
  EXPECT_EQ(o.shape.layers, 2);
  EXPECT_EQ(o.start_file + o.stop_file, "ab");
  EXPECT_EQ(o.device, 1);
}

TEST(OptionsTest, TinyKeepsWhatWasAskedFor) {
  const ParsedOptions parsed = parse({"bert-base", "--tiny", "--seq", "8"});
  EXPECT_EQ(parsed.options.shape.sequence, 8);
  EXPECT_EQ(parsed.options.shape.layers, 1);
  EXPECT_GT(parsed.options.shape.width_divisor, 1);
}

TEST(OptionsTest, UnknownModelNamesAllModels) {
  const ParsedOptions parsed = parse({"resnet5"});
  EXPECT_TRUE(parsed.stop);
  EXPECT_EQ(parsed.exit_code, 2);
  EXPECT_EQ(parsed.text, "gacer-model: unknown model 'resnet5'; models: " + model_names());
}

TEST(OptionsTest, BadValuesAreOneLineAndExitTwo) {
  const std::vector<std::vector<const char*>> bad = {
      {},
      {"lstm", "--batch", "0"},
      {"lstm", "--batch", "many"},
      {"lstm", "--requests", "0"},
      {"lstm", "--seconds", "-1"},
      {"lstm", "--arrival", "poisson:0"},
      {"lstm", "--stream-priority", "urgent"},
      {"lstm", "--no-such-option"},
      {"lstm", "--warmup", "0"},
      {"lstm", "vgg16"},
      {"alexnet", "--image", "32"},
      {"bert-base", "--seq", "513"},
      {"gpt2-decode", "--context", "1025"},
      {"vgg16", "--layers", "-1"},
      {"vgg16", "--width-divisor", "0"},
  };
  for (const auto& words : bad) {
    const ParsedOptions parsed = parse(words);
    EXPECT_TRUE(parsed.stop) << testing::PrintToString(words);
    EXPECT_EQ(parsed.exit_code, 2) << testing::PrintToString(words);
    EXPECT_EQ(parsed.text.find('\n'), std::string::npos) << parsed.text;
    EXPECT_TRUE(parsed.text.starts_with("gacer-model: ")) << parsed.text;
  }
}

TEST(OptionsTest, HelpLeavesWithZero) {
  const ParsedOptions parsed = parse({"--help"});
  EXPECT_TRUE(parsed.stop);
  EXPECT_EQ(parsed.exit_code, 0);
}

TEST(ReportTest, JsonHoldsTheFigures) {
  Options options = parse({"lstm", "--batch", "2"}).options;
  Report report;
  report.device = "A";
  report.requests = 10;
  report.elapsed_s = 2.0;
  report.latency.p99_ms = 1.5;
  report.checksum = 0xabc;
  const auto json = nlohmann::json::parse(report_json(options, report));
  EXPECT_EQ(json["model"], "lstm");
  EXPECT_DOUBLE_EQ(json["requests_per_s"], 5.0);
  EXPECT_DOUBLE_EQ(json["items_per_s"], 10.0);
  EXPECT_DOUBLE_EQ(json["p99_ms"], 1.5);
  EXPECT_EQ(json["checksum"], "0000000000000abc");
  report.checksum.reset();
  EXPECT_FALSE(nlohmann::json::parse(report_json(options, report)).contains("checksum"));
}

TEST(ReportTest, ListNamesEveryModel) {
  const std::string text = model_list_text();
  for (const ModelRow& row : kModels) EXPECT_NE(text.find(row.name), std::string::npos) << row.name;
}

}  // namespace
}  // namespace gacer::kernels
