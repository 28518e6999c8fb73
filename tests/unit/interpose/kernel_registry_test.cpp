// SPDX-License-Identifier: Apache-2.0
#include "interpose/kernel_registry.h"

#include <string>

#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::fake;

class KernelRegistryTest : public test::LaunchFixture {
 protected:
  void SetUp() override { test::decide(segment(), GateMode::kUngated, 0, true, 1); }
  shm::LaunchEntry record_of(CUfunction function, unsigned blocks = 100) {
    launch(one_, function, blocks);
    shm::LaunchEntry entry;
    EXPECT_TRUE(next_record(entry));
    return entry;
  }
};

TEST_F(KernelRegistryTest,
       given_a_module_loaded_again_then_its_kernel_keeps_identity_and_cost_slot) {
  const shm::LaunchEntry before = record_of(get_function("conv"));
  gacer_hook_cuModuleUnload(last_module_);
  const shm::LaunchEntry after = record_of(get_function("conv"));
  EXPECT_EQ(before.kernel_id, after.kernel_id);
  EXPECT_EQ(before.cost_slot, after.cost_slot);
}

TEST_F(KernelRegistryTest, given_other_shapes_images_or_names_then_other_cost_slots) {
  const CUfunction conv = get_function("conv");
  const shm::LaunchEntry first = record_of(conv);
  EXPECT_NE(record_of(conv, 101).cost_slot, first.cost_slot);
  EXPECT_EQ(record_of(conv, 101).kernel_id, first.kernel_id);
  EXPECT_NE(record_of(get_function("conv", ".version 7.0")).kernel_id, first.kernel_id);
  EXPECT_NE(record_of(get_function("pool")).kernel_id, first.kernel_id);
}

TEST_F(KernelRegistryTest, given_an_unloaded_module_then_its_handles_mean_nothing) {
  const CUfunction conv = get_function("conv");
  gacer_hook_cuModuleUnload(last_module_);
  EXPECT_EQ(record_of(conv).kernel_id, 0u);
}

TEST_F(KernelRegistryTest, given_a_handle_that_is_reused_then_the_new_kernel_counts) {
  KernelRegistry& kernels = shim().kernels;
  const CUfunction handle = test::function_number(77);
  kernels.learn_function(handle, 1, "old");
  const uint64_t old_id = kernels.find_kernel(reinterpret_cast<uint64_t>(handle)).facts->id;
  kernels.learn_function(handle, 2, "new");
  EXPECT_NE(kernels.find_kernel(reinterpret_cast<uint64_t>(handle)).facts->id, old_id);
}

TEST_F(KernelRegistryTest, given_resources_then_the_driver_is_asked_once_per_kernel) {
  const CUfunction conv = get_function("asked_once");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(record_of(conv).regs_per_thread, 40u);
  EXPECT_EQ(fake().attribute_questions, 2u);
}

TEST_F(KernelRegistryTest, given_a_library_kernel_and_its_function_then_they_are_the_same_kernel) {
  KernelRegistry& kernels = shim().kernels;
  const auto kernel = reinterpret_cast<CUkernel>(uintptr_t{0x71000});
  const auto function = reinterpret_cast<CUfunction>(uintptr_t{0x72000});
  kernels.learn_library_kernel(kernel, 9, "softmax");
  kernels.learn_alias(function, kernel);
  const KernelHandle by_kernel = kernels.find_kernel(0x71000);
  const KernelHandle by_function = kernels.find_kernel(0x72000);
  EXPECT_EQ(by_kernel.facts, by_function.facts);
  EXPECT_TRUE(by_kernel.of_library);
  EXPECT_FALSE(by_function.of_library);
}

TEST(GuessCost, given_sizes_then_the_guess_grows_from_2_us_and_never_overflows) {
  const DeviceFacts device{100, 2000};
  LaunchShape shape{};
  const auto guess = [&](uint32_t blocks, uint32_t y, uint32_t threads) {
    shape.grid[0] = blocks;
    shape.grid[1] = shape.grid[2] = y;
    shape.block[0] = threads;
    shape.block[1] = shape.block[2] = 1;
    return guess_cost_ns(shape, device);
  };
  EXPECT_EQ(guess(1, 1, 32), 2'000u);
  EXPECT_EQ(guess(2'000, 1, 100), 10'000u);  // fills the device once
  EXPECT_EQ(guess(20'000, 1, 100), 100'000u);
  EXPECT_EQ(guess(UINT32_MAX, UINT32_MAX, UINT32_MAX), 1'000'000'000u);
  EXPECT_GT(guess_cost_ns(shape, DeviceFacts{}), 0u);
}

TEST(KernelRegistryLimits, given_more_shapes_than_slots_then_the_rest_has_a_guess_and_no_slot) {
  static KernelRegistry registry;
  registry.learn_function(test::function_number(1), 1, "many");
  LaunchShape shape{};
  shape.kernel = registry.find_kernel(0x1000).facts;
  shape.block[0] = shape.block[1] = shape.block[2] = 1;
  shape.grid[1] = shape.grid[2] = 1;
  for (uint32_t i = 0; i < abi::kCostSlots; ++i) {
    shape.grid[0] = i + 1;
    ASSERT_EQ(registry.find_or_add_shape(shape, {}), i);
  }
  shape.grid[0] = abi::kCostSlots + 1;
  EXPECT_EQ(registry.find_or_add_shape(shape, {}), KernelRegistry::kNoSlot);
  EXPECT_GT(shape.guess_ns, 0u);
  shape.grid[0] = 17;
  EXPECT_EQ(registry.find_or_add_shape(shape, {}), 16u);
}

TEST(KernelRegistryLimits, given_endless_module_churn_then_lookups_stay_right) {
  static KernelRegistry registry;
  registry.learn_function(test::function_number(5), 4242, "kept");
  for (uintptr_t i = 10; i < 60'000; ++i) {
    registry.learn_image(i, i);
    registry.learn_function(test::function_number(i), i, "churn");
    if (i % 100 == 0) registry.forget_image(i);
  }
  ASSERT_NE(registry.find_kernel(0x5000).facts, nullptr);
  EXPECT_EQ(registry.find_kernel(0x123456789).facts, nullptr);
}

}  // namespace
}  // namespace gacer::interpose
