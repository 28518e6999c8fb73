// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver.h"
#include "interpose/stream_priorities.h"
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using test::fake;
using test::FakeDriver;

constexpr int32_t kUrgent = abi::kPriorityHighest;
constexpr int32_t kOthers = abi::kPriorityLowest;

class StreamHooksTest : public test::LaunchFixture {
 protected:
  CUstream create(int own) {
    CUstream stream = nullptr;
    EXPECT_EQ(gacer_hook_cuStreamCreateWithPriority(&stream, 0, own), CUDA_SUCCESS);
    return stream;
  }
  int created_with(int32_t word) {
    segment().gate.stream_priority = word;
    CUstream stream = nullptr;
    EXPECT_EQ(gacer_hook_cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    return fake().stream_priorities.back();
  }
  int created_with_own(int32_t word, int own) {
    segment().gate.stream_priority = word;
    create(own);
    return fake().stream_priorities.back();
  }
  int read_back(CUstream stream) {
    int priority = FakeDriver::kNoPriority;
    EXPECT_EQ(gacer_hook_cuStreamGetPriority(stream, &priority), CUDA_SUCCESS);
    return priority;
  }
  int read_attribute(CUstream stream) {
    CUstreamAttrValue value{};
    value.priority = FakeDriver::kNoPriority;
    EXPECT_EQ(gacer_hook_cuStreamGetAttribute_ptsz(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
              CUDA_SUCCESS);
    return value.priority;
  }
};

TEST_F(StreamHooksTest, given_the_programs_own_priority_is_kept_then_its_call_is_unchanged) {
  EXPECT_EQ(created_with(abi::kPriorityKeep), FakeDriver::kNoPriority);
  EXPECT_EQ(created_with_own(abi::kPriorityKeep, -3), -3);
}

// The fake device's range is 0 to -5, as that of real ones.
TEST_F(StreamHooksTest, STR_15_given_an_urgent_tenant_then_each_stream_goes_before_all_others) {
  EXPECT_EQ(created_with(kUrgent), -3);
  EXPECT_EQ(created_with_own(kUrgent, 0), -3);
  EXPECT_EQ(created_with_own(kUrgent, -1), -4);
  EXPECT_EQ(created_with_own(kUrgent, -5), -5);
  EXPECT_EQ(created_with(kOthers), 0);
  EXPECT_EQ(created_with_own(kOthers, -1), -1);
  EXPECT_EQ(created_with_own(kOthers, -5), -2);
}

TEST_F(StreamHooksTest, STR_15_given_any_range_then_the_programs_order_is_never_reversed) {
  for (const PriorityRange range : {PriorityRange{0, -5}, {0, -4}, {0, -2}, {0, -1}, {0, 0}})
    for (const int32_t asked : {kUrgent, kOthers})
      for (int own = 3; own > -8; --own) {
        const int given = priority_in_half(own, asked, range);
        EXPECT_GE(priority_in_half(own + 1, asked, range), given);
        EXPECT_LE(given, range.least);
        EXPECT_GE(given, range.greatest);
        const int gap =
            priority_in_half(-9, kOthers, range) - priority_in_half(own, kUrgent, range);
        EXPECT_GE(gap, range.greatest < range.least ? 1 : 0);
      }
}

TEST_F(StreamHooksTest, STR_15_given_a_mapped_stream_then_the_program_reads_its_own_number) {
  segment().gate.stream_priority = kOthers;
  const CUstream plain = create(0);
  const CUstream high = create(-5);
  const CUstream wild = create(-99);
  EXPECT_EQ(read_back(plain), 0);
  EXPECT_EQ(read_back(high), -5);
  EXPECT_EQ(read_attribute(high), -5);
  EXPECT_EQ(read_back(wild), -5);  // as the device would have clamped it
}

TEST_F(StreamHooksTest, STR_15_given_a_priority_set_later_then_it_is_mapped_and_read_back) {
  segment().gate.stream_priority = kUrgent;
  const CUstream stream = create(0);
  CUstreamAttrValue value{};
  value.priority = -2;
  EXPECT_EQ(gacer_hook_cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(fake().attribute_priority, -5);
  EXPECT_EQ(value.priority, -2);
  EXPECT_EQ(read_back(stream), -2);
}

TEST_F(StreamHooksTest, given_a_destroyed_streams_handle_again_then_it_has_no_priority_of_before) {
  segment().gate.stream_priority = kOthers;
  const CUstream first = create(-4);
  gacer_hook_cuStreamDestroy_v2(first);
  EXPECT_EQ(read_back(first), FakeDriver::kNoPriority);  // the driver's own answer
  // Also when the end was not seen.
  const CUstream second = create(-4);
  fake().next_handle -= 0x1000;
  segment().gate.stream_priority = abi::kPriorityKeep;
  EXPECT_EQ(create(-3), second);
  EXPECT_EQ(read_back(second), FakeDriver::kNoPriority);
}

TEST_F(StreamHooksTest, given_no_daemon_then_stream_creation_passes) {
  shim().session.publish(nullptr);
  CUstream stream = nullptr;
  EXPECT_EQ(gacer_hook_cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(fake().stream_priorities.back(), FakeDriver::kNoPriority);
}

#if CUDA_VERSION >= 12050
TEST_F(StreamHooksTest, given_a_green_contexts_stream_then_its_priority_is_mapped_too) {
  segment().gate.stream_priority = kUrgent;
  CUstream stream = nullptr;
  EXPECT_EQ(gacer_hook_cuGreenCtxStreamCreate(&stream, nullptr, 0, -1), CUDA_SUCCESS);
  EXPECT_EQ(fake().stream_priorities.back(), -4);
  EXPECT_EQ(read_back(stream), -1);
}

void* symbol_of_old_driver(void* context, const char* name) {
  const bool newer =
      strncmp(name, "cuGreenCtx", 10) == 0 || strncmp(name, "cuCtxFromGreen", 14) == 0;
  return newer ? nullptr : test::fake_symbol(context, name);
}

TEST_F(StreamHooksTest, STR_12_given_a_driver_without_green_contexts_then_they_are_not_supported) {
  DriverTable table;
  EXPECT_GT(fill_driver_table(table, &symbol_of_old_driver, nullptr, CUDA_ERROR_NOT_SUPPORTED), 0);
  install_driver(table, &symbol_of_old_driver, nullptr);
  CUstream stream = nullptr;
  segment().gate.stream_priority = kUrgent;
  EXPECT_EQ(gacer_hook_cuGreenCtxStreamCreate(&stream, nullptr, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(gacer_hook_cuGreenCtxRecordEvent(nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(launch(one_), CUDA_SUCCESS);
}
#endif

}  // namespace
}  // namespace gacer::interpose
