// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/image/cubin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

namespace gacer::simdevice {
namespace {

using testing::HasSubstr;

std::vector<uint8_t> read_image(const std::string& name) {
  std::ifstream in(std::string(IMAGE_FOLDER) + "/" + name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  return {all.begin(), all.end()};
}

class NvccCubin : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    image_ = read_image("described_" + std::to_string(GetParam()) + ".cubin");
    ASSERT_FALSE(image_.empty());
    auto cubin = parse_cubin(image_);
    ASSERT_TRUE(cubin.ok()) << cubin.error().message;
    cubin_ = *cubin;
  }
  const CubinKernel& kernel(const std::string& name) const {
    return *std::find_if(cubin_.kernels.begin(), cubin_.kernels.end(),
                         [&](const auto& k) { return k.name == name; });
  }
  const CubinGlobal& global(const std::string& name) const {
    return *std::find_if(cubin_.globals.begin(), cubin_.globals.end(),
                         [&](const auto& g) { return g.name == name; });
  }
  std::vector<uint8_t> image_;
  Cubin cubin_;
};
INSTANTIATE_TEST_SUITE_P(Architectures, NvccCubin, testing::Values(80, 90));

TEST_P(NvccCubin, TellsItsTargetAndKernels) {
  EXPECT_EQ(cubin_.sm, GetParam());
  EXPECT_FALSE(cubin_.relocatable);
  EXPECT_EQ(cubin_.kernels.size(), 3u);
}

TEST_P(NvccCubin, TellsParametersOfAKernelByPosition) {
  const auto& params = kernel("mixed").params;
  ASSERT_EQ(params.size(), 5u);
  const uint32_t offsets[] = {0, 8, 16, 5016, 5024}, bytes[] = {8, 8, 5000, 1, 8};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(params[i].offset, offsets[i]);
    EXPECT_EQ(params[i].bytes, bytes[i]);
  }
  EXPECT_EQ(kernel("mixed").param_bytes, 5032u);
  EXPECT_TRUE(kernel("bare").params.empty());
}

TEST_P(NvccCubin, TellsResources) {
  EXPECT_EQ(kernel("mixed").static_smem_bytes, 400u);  // without what sm_90 reserves
  EXPECT_EQ(kernel("mixed").max_threads, 256u);
  EXPECT_GE(kernel("mixed").regs, 8u);
  EXPECT_LE(kernel("mixed").regs, 128u);
  EXPECT_EQ(kernel("stacked").local_bytes, 800u);
  EXPECT_EQ(kernel("stacked").max_threads, 0u);
}

TEST_P(NvccCubin, TellsVariablesWithInitialBytesAndAddresses) {
  const int expected[] = {1, 2, 3, 4};
  ASSERT_EQ(global("table").initial.size(), sizeof expected);
  EXPECT_EQ(memcmp(global("table").initial.data(), expected, sizeof expected), 0);
  EXPECT_EQ(global("zeroes").bytes, 40u);
  EXPECT_TRUE(global("zeroes").initial.empty());
  EXPECT_TRUE(global("factors").is_const);
  EXPECT_TRUE(global("shared_with_host").is_managed);
  const CubinGlobal& pointer = global("into_table");
  ASSERT_EQ(pointer.relocations.size(), 1u);
  EXPECT_EQ(cubin_.globals[pointer.relocations[0].second].name, "table");
  uint64_t addend = 0;
  memcpy(&addend, pointer.initial.data() + pointer.relocations[0].first, 8);
  EXPECT_EQ(addend, 8u);
}

TEST_P(NvccCubin, CutShortItIsAnErrorAndNeverReadBeyond) {
  for (size_t bytes = 0; bytes < image_.size(); bytes += 13) {
    const std::vector<uint8_t> cut(image_.begin(), image_.begin() + static_cast<ptrdiff_t>(bytes));
    (void)parse_cubin(cut);  // the program headers at the end are not needed
  }
  const std::vector<uint8_t> cut(image_.begin(), image_.begin() + 100);
  EXPECT_FALSE(parse_cubin(cut).ok());
}

TEST_P(NvccCubin, DamageAnywhereIsSurvived) {
  std::mt19937 random(GetParam());
  for (int round = 0; round < 2000; ++round) {
    auto damaged = image_;
    for (int i = 0; i < 4; ++i) damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    const auto cubin = parse_cubin(damaged);
    if (!cubin.ok()) continue;
    for (const CubinKernel& kernel : cubin->kernels)
      for (const CubinParam& param : kernel.params)
        ASSERT_LE(param.offset + param.bytes, kernel.param_bytes);
  }
}

TEST(Cubin, OtherMachinesAreRefused) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::vector<uint8_t> image(1 << 20);
  self.read(reinterpret_cast<char*>(image.data()), static_cast<std::streamsize>(image.size()));
  EXPECT_FALSE(parse_cubin(image).ok());
  EXPECT_FALSE(parse_cubin({}).ok());
}

TEST(Cubin, CodeRunsOnLaterMinorsOfItsMajorOnly) {
  EXPECT_TRUE(code_runs_on(80, 80));
  EXPECT_TRUE(code_runs_on(80, 86));
  EXPECT_FALSE(code_runs_on(86, 80));
  EXPECT_FALSE(code_runs_on(80, 90));
}

}  // namespace
}  // namespace gacer::simdevice
