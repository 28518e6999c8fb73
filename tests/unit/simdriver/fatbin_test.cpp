// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/decompress.h"
#include "tests/unit/simdriver/fatbin_builder.h"

namespace gacer::simdriver {
namespace {

using testing::HasSubstr;

std::string read_file(const std::string& name) {
  std::ifstream in(std::string(FATBIN_FOLDER) + "/" + name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class NvccFatbin : public testing::TestWithParam<const char*> {};

TEST_P(NvccFatbin, GivesBackThePtxWhateverTheCompression) {
  const std::string file = read_file(std::string("scale_") + GetParam() + ".fatbin");
  ASSERT_FALSE(file.empty());
  const auto from_file = image_in_bytes(bytes_of(file), 80);
  const auto from_memory = image_in_memory(file.data(), 80);
  ASSERT_TRUE(from_file.ok()) << from_file.error().message;
  ASSERT_TRUE(from_memory.ok());
  EXPECT_THAT(*from_file, HasSubstr(".target sm_80"));
  EXPECT_THAT(*from_file, HasSubstr(".entry shift("));
  EXPECT_EQ(*from_file, *from_memory);
}
INSTANTIATE_TEST_SUITE_P(Compressions, NvccFatbin, testing::Values("none", "speed", "size"));

TEST(Fatbin, CompressionsHoldTheSameText) {
  const auto plain = image_in_bytes(bytes_of(read_file("scale_none.fatbin")), 80);
  for (const char* name : {"scale_speed.fatbin", "scale_size.fatbin"}) {
    const auto packed = image_in_bytes(bytes_of(read_file(name)), 80);
    ASSERT_TRUE(packed.ok());
    // nvcc pads with blank lines when it does not compress.
    EXPECT_EQ(packed->substr(packed->find(".version")), plain->substr(plain->find(".version")));
  }
}

TEST(Fatbin, WrapperLeadsToTheContainer) {
  const std::string container = read_file("scale_none.fatbin");
  struct {
    uint32_t magic = 0x466243b1;
    uint32_t version = 1;
    const void* data;
    const void* more = nullptr;
  } wrapper;
  wrapper.data = container.data();
  EXPECT_TRUE(image_in_memory(&wrapper, 80).ok());
  wrapper.data = nullptr;
  EXPECT_EQ(image_in_memory(&wrapper, 80).error().code, CUDA_ERROR_INVALID_IMAGE);
}

TEST(Fatbin, PicksTheNewestPtxThatTheDeviceCanRun) {
  const auto image = build_fatbin({{1, 70, "seventy"}, {1, 80, "eighty"}, {1, 90, "ninety"}});
  EXPECT_EQ(*image_in_memory(image.data(), 70), "seventy");
  EXPECT_EQ(*image_in_memory(image.data(), 86), "eighty");
  EXPECT_EQ(*image_in_memory(image.data(), 90), "ninety");
}

const char kElf[] =
    "\x7f"
    "ELF";

TEST(Fatbin, OnlyNewerPtxAndOtherMachineCodeIsNoBinaryForThisDevice) {
  const auto newer = build_fatbin({{1, 90, "ninety"}, {2, 75, kElf}, {2, 86, kElf}});
  const auto result = image_in_memory(newer.data(), 80);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_THAT(result.error().message, HasSubstr("PTX sm_90"));
  EXPECT_THAT(result.error().message, HasSubstr("code sm_75"));
}

TEST(Fatbin, MachineCodeIsTakenWhereThereIsNoPtxForTheDevice) {
  const auto newer = build_fatbin({{1, 90, "ninety"}, {2, 80, kElf}});
  const auto result = image_in_memory(newer.data(), 86);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(is_machine_code(*result));
  EXPECT_EQ(*image_in_memory(newer.data(), 90), "ninety");
  const auto both = build_fatbin({{2, 80, kElf}, {1, 70, "seventy"}});
  EXPECT_EQ(*image_in_memory(both.data(), 80), "seventy");
}

TEST(Fatbin, PtxOfOneArchitectureOrFamilyIsForThatOnly) {
  constexpr uint64_t kExact = 0x100011, kFamily = 0x200011;
  const auto image =
      build_fatbin({{1, 90, "exact", kExact}, {1, 100, "family", kFamily}, {1, 75, "any"}});
  EXPECT_EQ(*image_in_memory(image.data(), 80), "any");
  EXPECT_EQ(*image_in_memory(image.data(), 90), "exact");
  EXPECT_EQ(*image_in_memory(image.data(), 103), "family");
  EXPECT_EQ(*image_in_memory(image.data(), 120), "any");
}

TEST(Fatbin, LtoIrAloneNamesTheMissingCompiler) {
  const auto image = build_fatbin({{8, 80, "ir"}});
  const auto result = image_in_memory(image.data(), 80);
  EXPECT_EQ(result.error().code, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_THAT(result.error().message, HasSubstr("nvJitLink"));
  const auto with_ptx = build_fatbin({{8, 80, "ir"}, {1, 80, "text"}});
  EXPECT_EQ(*image_in_memory(with_ptx.data(), 80), "text");
}

TEST(Fatbin, AWrapperOfALinkedProgramLeadsToTheLinkedPtx) {
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const auto first = build_fatbin(
      {{1, 80, head + ".extern .func f();\n.visible .entry k(){ call.uni f; ret; }\n"}});
  const auto second = build_fatbin({{1, 80, head + ".visible .func f(){ ret; }\n"}});
  const auto code = build_fatbin({{2, 80, kElf}});
  const void* parts[] = {first.data(), second.data(), nullptr};
  const struct {
    uint32_t magic = 0x466243b1;
    uint32_t version = 2;
    const void* data;
    const void* more;
  } wrapper{.data = code.data(), .more = parts};
  const auto result = image_in_memory(&wrapper, 80);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(*result, HasSubstr(".entry k"));
  EXPECT_THAT(*result, HasSubstr(".func f"));
}

TEST(Fatbin, ASectionMayHoldSeveralContainers) {
  auto section = build_fatbin({{1, 80, "one"}});
  section.resize((section.size() + 7) / 8 * 8);
  const auto second = build_fatbin({{1, 80, "two"}});
  section.insert(section.end(), second.begin(), second.end());
  const auto images = images_of_section(section, 80);
  ASSERT_TRUE(images.ok());
  EXPECT_THAT(*images, testing::ElementsAre("one", "two"));
  section.resize(section.size() - 8);
  EXPECT_FALSE(images_of_section(section, 80).ok());
}

TEST(Fatbin, PlainTextIsTakenAsPtx) {
  EXPECT_EQ(*image_in_memory(".version 8.0\n.target sm_80\n", 80), ".version 8.0\n.target sm_80\n");
  EXPECT_EQ(image_in_memory("abc", 80).error().code, CUDA_ERROR_INVALID_IMAGE);
}

TEST(Fatbin, EveryTruncationOfAFileIsAnErrorAndNeverReadsBeyond) {
  for (const char* name : {"scale_none.fatbin", "scale_speed.fatbin", "scale_size.fatbin"}) {
    const std::string whole = read_file(name);
    for (size_t bytes = 16; bytes < whole.size(); bytes += 7) {
      // A copy of exactly that size: reading on would be seen by the address sanitizer.
      const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
      EXPECT_FALSE(image_in_bytes(cut, 80).ok()) << name << " cut to " << bytes;
    }
  }
}

TEST(Fatbin, DamagedHeadersAreErrors) {
  auto image = build_fatbin({{1, 80, "text"}});
  const auto set32 = [&](size_t at, uint32_t value) { memcpy(image.data() + at, &value, 4); };
  set32(16 + 4, 8);  // header shorter than a header
  EXPECT_FALSE(image_in_bytes(image, 80).ok());
  set32(16 + 4, 0xffffffff);
  EXPECT_FALSE(image_in_bytes(image, 80).ok());
  set32(16 + 4, 64);
  set32(16 + 8, 0xffffffff);  // entry longer than the file
  EXPECT_FALSE(image_in_bytes(image, 80).ok());
}

TEST(Fatbin, GarbageInsteadOfCompressedTextIsAnError) {
  for (const uint64_t flag : {uint64_t{0x2000}, uint64_t{0x8000}}) {
    const auto image = build_fatbin({{1, 80, std::string(40, '\xf3'), 0x11 | flag, 1000}});
    EXPECT_EQ(image_in_bytes(image, 80).error().code, CUDA_ERROR_INVALID_IMAGE);
  }
}

TEST(Decompress, Lz4ExpandsOverlappingMatches) {
  // "ab", then a match of 10 at distance 2, then the literal "!".
  const std::vector<uint8_t> block = {0x26, 'a', 'b', 2, 0, 0x10, '!'};
  std::string out;
  ASSERT_TRUE(decompress_lz4(block, 13, out));
  EXPECT_EQ(out, "abababababab!");
}

TEST(Decompress, Lz4RefusesWhatDoesNotFit) {
  const std::vector<uint8_t> block = {0x26, 'a', 'b', 2, 0, 0x10, '!'};
  std::string out;
  EXPECT_FALSE(decompress_lz4(block, 12, out));  // too long
  EXPECT_FALSE(decompress_lz4(block, 14, out));  // too short
  EXPECT_FALSE(
      decompress_lz4(std::vector<uint8_t>{0x26, 'a', 'b', 9, 0}, 12, out));  // before start
  EXPECT_FALSE(decompress_lz4(std::vector<uint8_t>{0xf0, 0xff}, 400, out));  // length cut off
}

}  // namespace
}  // namespace gacer::simdriver
