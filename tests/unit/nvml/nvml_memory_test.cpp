// SPDX-License-Identifier: Apache-2.0
#include "interpose/nvml/nvml_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "interpose/nvml/nvml_library.h"

namespace gacer::interpose::nvml {
namespace {

constexpr unsigned long long kGiB = 1ULL << 30;

Memory device(unsigned long long used) {
  return {.total = 24 * kGiB, .free = 24 * kGiB - used, .used = used};
}

TEST(NvmlMemory, given_a_limit_then_the_tenant_sees_its_share) {
  Memory memory = device(10 * kGiB);
  show_share({.limit_bytes = 8 * kGiB, .used_bytes = 3 * kGiB}, memory);
  EXPECT_EQ(memory.total, 8 * kGiB);
  EXPECT_EQ(memory.used, 3 * kGiB);
  EXPECT_EQ(memory.free, 5 * kGiB);
}

TEST(NvmlMemory, MEM_12_given_a_limit_beyond_the_device_then_total_is_the_device) {
  Memory memory = device(0);
  show_share({.limit_bytes = 30 * kGiB, .used_bytes = kGiB}, memory);
  EXPECT_EQ(memory.total, 24 * kGiB);
  EXPECT_EQ(memory.free, 23 * kGiB);
}

TEST(NvmlMemory, MEM_18_given_neighbours_that_leave_less_than_the_share_then_free_is_the_truth) {
  Memory memory = device(22 * kGiB);
  show_share({.limit_bytes = 8 * kGiB, .used_bytes = kGiB}, memory);
  EXPECT_EQ(memory.free, 2 * kGiB);
  EXPECT_EQ(memory.total, 8 * kGiB);
  EXPECT_EQ(memory.used, 6 * kGiB);
}

TEST(NvmlMemory, MEM_11_given_use_beyond_a_lowered_limit_then_free_is_zero_and_nothing_wraps) {
  Memory memory = device(12 * kGiB);
  show_share({.limit_bytes = 4 * kGiB, .used_bytes = 6 * kGiB}, memory);
  EXPECT_EQ(memory.free, 0u);
  EXPECT_EQ(memory.used, 4 * kGiB);
  EXPECT_EQ(memory.total, 4 * kGiB);
}

TEST(NvmlMemory, MEM_20_given_any_device_and_share_then_reserved_used_and_free_make_the_total) {
  std::mt19937_64 random(20);
  for (int i = 0; i < 10'000; ++i) {
    const unsigned long long total = random() % (80 * kGiB) + 1;
    const unsigned long long reserved = random() % total;
    const unsigned long long used = random() % (total - reserved + 1);
    const Share share{.limit_bytes = random() % (100 * kGiB) + 1,
                      .used_bytes = random() % (100 * kGiB)};
    MemoryV2 two{kMemoryV2Version, total, reserved, total - reserved - used, used};
    Memory one{total, total - reserved - used, reserved + used};
    const unsigned long long free_before = one.free;
    show_share(share, two);
    show_share(share, one);
    ASSERT_EQ(two.reserved + two.used + two.free, two.total);
    ASSERT_EQ(one.used + one.free, one.total);
    ASSERT_EQ(std::tie(one.total, one.free, one.used), std::tie(two.total, two.free, two.used));
    ASSERT_LE(one.free, free_before);
    ASSERT_LE(one.total, std::min<unsigned long long>(total, share.limit_bytes));
  }
}

TEST(NvmlMemory, OBS_14_given_the_v2_structure_then_its_layout_and_version_are_nvmls) {
  EXPECT_EQ(kMemoryV2Version, 0x02000028u);
  EXPECT_EQ(offsetof(MemoryV2, total), 8u);
  EXPECT_EQ(offsetof(MemoryV2, reserved), 16u);
  EXPECT_EQ(offsetof(MemoryV2, free), 24u);
  EXPECT_EQ(offsetof(MemoryV2, used), 32u);
}

TEST(NvmlUuid, given_text_of_the_form_then_its_bytes) {
  uint8_t uuid[16];
  ASSERT_TRUE(parse_uuid("GPU-00112233-4455-6677-8899-aAbBcCdDeEfF", uuid));
  const uint8_t expected[16] = {0,    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
  EXPECT_EQ(memcmp(uuid, expected, 16), 0);
  EXPECT_TRUE(parse_uuid("MIG-00112233-4455-6677-8899-aabbccddeeff", uuid));
}

TEST(NvmlUuid, given_any_other_text_then_refused) {
  uint8_t uuid[16];
  for (const char* text :
       {"", "GPU-", "GPU", "00112233-4455-6677-8899-aabbccddeeff",
        "GPU-00112233-4455-6677-8899-aabbccddeef", "GPU-0011223344556677-8899-aabbccddeeff",
        "GPU-00112233-4455-6677-8899-aabbccddeeff0", "GPU-0011223g-4455-6677-8899-aabbccddeeff",
        "MIG-GPU-00112233-4455-6677-8899-aabbccddeeff/1/0"})
    EXPECT_FALSE(parse_uuid(text, uuid)) << text;
}

TEST(NvmlNames, given_spellings_of_the_library_then_only_they_are_recognised) {
  for (const char* file :
       {"libnvidia-ml.so", "libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.570.86.15"})
    EXPECT_TRUE(names_nvml(file)) << file;
  for (const char* file :
       {"libnvidia-mlx.so", "libnvidia-ml.so.1.bak", "libcuda.so.1", "/libnvidia-ml.so/x.so"})
    EXPECT_FALSE(names_nvml(file)) << file;
  EXPECT_FALSE(names_nvml(nullptr));
}

}  // namespace
}  // namespace gacer::interpose::nvml
