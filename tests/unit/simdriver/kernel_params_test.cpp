// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/kernel_params.h"

#include <gtest/gtest.h>

namespace gacer::simdriver {
namespace {

// (u8 at 0, u64 at 8, f32 at 16): 20 bytes.
KernelDescription three_params() {
  KernelDescription kernel;
  kernel.params = {{0, 1}, {8, 8}, {16, 4}};
  kernel.param_bytes = 20;
  return kernel;
}

template <typename T>
T at(const std::vector<uint8_t>& packed, size_t offset) {
  T value;
  memcpy(&value, packed.data() + offset, sizeof value);
  return value;
}

TEST(KernelParams, PointersArePackedAtTheirOffsets) {
  uint8_t byte = 7;
  uint64_t address = 0x1122334455667788;
  float factor = 2.5F;
  void* pointers[] = {&byte, &address, &factor};
  std::vector<uint8_t> packed;
  ASSERT_EQ(pack_params(three_params(), pointers, nullptr, packed), CUDA_SUCCESS);
  ASSERT_EQ(packed.size(), 20U);
  EXPECT_EQ(packed[0], 7);
  EXPECT_EQ(at<uint64_t>(packed, 8), address);
  EXPECT_EQ(at<float>(packed, 16), factor);
  for (size_t i = 1; i < 8; ++i) EXPECT_EQ(packed[i], 0) << "padding";
}

TEST(KernelParams, MissingPointersAreInvalid) {
  uint8_t byte = 7;
  void* pointers[] = {&byte, nullptr, &byte};
  std::vector<uint8_t> packed;
  EXPECT_EQ(pack_params(three_params(), pointers, nullptr, packed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pack_params(three_params(), nullptr, nullptr, packed), CUDA_ERROR_INVALID_VALUE);
}

TEST(KernelParams, AKernelWithoutParametersNeedsNothing) {
  std::vector<uint8_t> packed = {1};
  EXPECT_EQ(pack_params(KernelDescription{}, nullptr, nullptr, packed), CUDA_SUCCESS);
  EXPECT_TRUE(packed.empty());
}

struct Extra {
  std::vector<uint8_t> buffer;
  size_t bytes;
  void* list[5];
  Extra(size_t room, size_t said) : buffer(room, 0xab), bytes(said) {
    list[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    list[1] = buffer.data();
    list[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    list[3] = &bytes;
    list[4] = CU_LAUNCH_PARAM_END;
  }
};

TEST(KernelParams, ABufferIsTakenAsItIs) {
  Extra extra(20, 20);
  std::vector<uint8_t> packed;
  ASSERT_EQ(pack_params(three_params(), nullptr, extra.list, packed), CUDA_SUCCESS);
  EXPECT_EQ(packed, extra.buffer);
}

TEST(KernelParams, ABufferMayBeLongerButNotShorter) {
  std::vector<uint8_t> packed;
  Extra longer(32, 32);
  ASSERT_EQ(pack_params(three_params(), nullptr, longer.list, packed), CUDA_SUCCESS);
  EXPECT_EQ(packed.size(), 20U);
  Extra shorter(19, 19);
  EXPECT_EQ(pack_params(three_params(), nullptr, shorter.list, packed), CUDA_ERROR_INVALID_VALUE);
}

TEST(KernelParams, UnknownKeysAndBothFormsAreInvalid) {
  std::vector<uint8_t> packed;
  Extra extra(20, 20);
  void* pointers[] = {&extra, &extra, &extra};
  EXPECT_EQ(pack_params(three_params(), pointers, extra.list, packed), CUDA_ERROR_INVALID_VALUE);
  extra.list[0] = reinterpret_cast<void*>(uintptr_t{9});
  EXPECT_EQ(pack_params(three_params(), nullptr, extra.list, packed), CUDA_ERROR_INVALID_VALUE);
}

TEST(KernelParams, PointersBackLeadIntoThePackedBytes) {
  std::vector<uint8_t> packed(20);
  const auto pointers = param_pointers(three_params(), packed);
  ASSERT_EQ(pointers.size(), 3U);
  EXPECT_EQ(pointers[2], packed.data() + 16);
}

}  // namespace
}  // namespace gacer::simdriver
