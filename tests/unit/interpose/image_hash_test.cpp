// SPDX-License-Identifier: Apache-2.0
#include "interpose/image_hash.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace gacer::interpose {
namespace {

std::vector<char> fat_binary(char fill, uint64_t body_bytes) {
  std::vector<char> image(16 + body_bytes, fill);
  const uint32_t magic = 0xba55ed50;
  const uint16_t version = 1;
  const uint16_t header_bytes = 16;
  memcpy(image.data(), &magic, 4);
  memcpy(image.data() + 4, &version, 2);
  memcpy(image.data() + 6, &header_bytes, 2);
  memcpy(image.data() + 8, &body_bytes, 8);
  return image;
}

TEST(ImageHash, given_equal_ptx_in_two_places_then_equal_and_other_ptx_then_not) {
  const std::string one = ".version 8.0\n.target sm_80\n.entry a(){ret;}";
  const std::string copy = one;
  EXPECT_EQ(hash_image(one.c_str()), hash_image(copy.c_str()));
  EXPECT_NE(hash_image(one.c_str()), hash_image((one + " ").c_str()));
  EXPECT_NE(hash_image(one.c_str()), 0u);
}

TEST(ImageHash, given_a_wrapper_then_it_is_the_wrapped_image) {
  const std::vector<char> image = fat_binary('x', 4000);
  struct {
    uint32_t magic = 0x466243b1;
    uint32_t version = 1;
    const void* data;
    void* more = nullptr;
  } wrapper{.data = image.data()};
  EXPECT_EQ(hash_image(&wrapper), hash_image(image.data()));
}

TEST(ImageHash, given_large_images_that_differ_at_the_end_then_hashes_differ) {
  std::vector<char> image = fat_binary('x', 3'000'000);
  const uint64_t before = hash_image(image.data());
  image.back() = 'y';
  EXPECT_NE(hash_image(image.data()), before);
}

TEST(ImageHash, given_an_elf_image_then_its_size_comes_from_its_headers) {
  std::vector<char> image(512, 'z');
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = 384;
  header.e_shentsize = 64;
  header.e_shnum = 2;
  memcpy(image.data(), &header, sizeof header);
  const uint64_t before = hash_image(image.data());
  image[511] = 'y';
  EXPECT_NE(hash_image(image.data()), before);
}

TEST(ImageHash, given_nothing_or_an_unknown_kind_then_zero) {
  const uint64_t unknown[2] = {0x0102030405060708, 0};
  EXPECT_EQ(hash_image(nullptr), 0u);
  EXPECT_EQ(hash_image(unknown), 0u);
}

TEST(ImageHash, given_kernels_then_identity_is_image_and_name) {
  EXPECT_EQ(kernel_id_of(5, "gemm"), kernel_id_of(5, "gemm"));
  EXPECT_NE(kernel_id_of(5, "gemm"), kernel_id_of(6, "gemm"));
  EXPECT_NE(kernel_id_of(5, "gemm"), kernel_id_of(5, "gemm2"));
}

}  // namespace
}  // namespace gacer::interpose
