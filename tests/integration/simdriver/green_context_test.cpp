// SPDX-License-Identifier: Apache-2.0
// Green contexts and device resources. Rules: CUDA Driver API 13.0, "Green Contexts".
#include <array>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

class GreenContextTest : public testing::Test {
 protected:
  void SetUp() override {
    CU_OK(cuInit(0));
    CU_OK(cuDevicePrimaryCtxRetain(&primary_, 0));
    CU_OK(cuCtxSetCurrent(primary_));
    CU_OK(cuModuleLoadData(&module_, kTestPtx));
    CU_OK(cuModuleGetFunction(&spin_, module_, "spin"));
    CU_OK(cuDeviceGetDevResource(0, &all_, CU_DEV_RESOURCE_TYPE_SM));
  }
  void TearDown() override {
    cuCtxSetCurrent(nullptr);
    cuDevicePrimaryCtxRelease(0);
  }
  // Two halves of `sms` SMs each.
  std::array<CUdevResource, 2> two_groups(unsigned sms) {
    std::array<CUdevResource, 2> groups{};
    unsigned count = 2;
    EXPECT_EQ(CUDA_SUCCESS,
              cuDevSmResourceSplitByCount(groups.data(), &count, &all_, nullptr, 0, sms));
    EXPECT_EQ(count, 2U);
    return groups;
  }
  CUgreenCtx make(CUdevResource resource) {
    CUdevResourceDesc descriptor = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuDevResourceGenerateDesc(&descriptor, &resource, 1));
    CUgreenCtx green = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGreenCtxCreate(&green, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return green;
  }
  CUstream stream_of(CUgreenCtx green) {
    CUstream stream = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    return stream;
  }
  CUresult spin(unsigned blocks, unsigned turns, CUstream stream) {
    void* params[] = {&turns};
    return cuLaunchKernel(spin_, blocks, 1, 1, 1024, 1, 1, 0, stream, params, nullptr);
  }
  // Model time of what `work` submits. All is submitted before any of it starts, so that what this
  // machine does at the time plays no part; `beside` starts together with it.
  template <typename Submit>
  float model_ms(CUstream stream, const Submit& work, CUstream beside = nullptr,
                 unsigned blocks_beside = 0) {
    CUevent start = nullptr, end = nullptr;
    CUstream opener = nullptr;
    CUdeviceptr gate = 0;
    float ms = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&start, 0));
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&end, 0));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamCreate(&opener, CU_STREAM_NON_BLOCKING));
    EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&gate, 4));
    EXPECT_EQ(CUDA_SUCCESS, cuMemsetD32(gate, 0, 1));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamSynchronize(nullptr));
    if (beside != nullptr) {
      EXPECT_EQ(CUDA_SUCCESS, cuStreamWaitValue32(beside, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
      EXPECT_EQ(CUDA_SUCCESS, spin(blocks_beside, 400, beside));
    }
    EXPECT_EQ(CUDA_SUCCESS, cuStreamWaitValue32(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
    EXPECT_EQ(CUDA_SUCCESS, cuEventRecord(start, stream));
    work();
    EXPECT_EQ(CUDA_SUCCESS, cuEventRecord(end, stream));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamWriteValue32(opener, gate, 1, 0));
    EXPECT_EQ(CUDA_SUCCESS, cuEventSynchronize(end));
    EXPECT_EQ(CUDA_SUCCESS, cuEventElapsedTime(&ms, start, end));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamSynchronize(beside));
    EXPECT_EQ(CUDA_SUCCESS, cuMemFree(gate));
    return ms;
  }
  CUcontext primary_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction spin_ = nullptr;
  CUdevResource all_{};
};

// Section "Green Contexts": 8.X: at least 4 SMs, a multiple of 2.
TEST_F(GreenContextTest, given_a_count_when_split_then_groups_are_rounded_up_and_disjoint) {
  EXPECT_EQ(all_.type, CU_DEV_RESOURCE_TYPE_SM);
  EXPECT_EQ(all_.sm.smCount, 108U);
  EXPECT_EQ(all_.sm.minSmPartitionSize, 4U);
  EXPECT_EQ(all_.sm.smCoscheduledAlignment, 2U);
  unsigned count = 0;
  CU_OK(cuDevSmResourceSplitByCount(nullptr, &count, &all_, nullptr, 0, 25));
  EXPECT_EQ(count, 4U);
  CUdevResource groups[2] = {}, rest{};
  count = 2;
  CU_OK(cuDevSmResourceSplitByCount(groups, &count, &all_, &rest, 0, 25));
  EXPECT_EQ(groups[0].sm.smCount, 26U);
  EXPECT_EQ(groups[1].sm.smCount, 26U);
  EXPECT_EQ(rest.sm.smCount, 56U);
  count = 1;
  CU_OK(cuDevSmResourceSplitByCount(groups, &count, &all_, nullptr, 0, 1));
  EXPECT_EQ(groups[0].sm.smCount, 4U);
  CU_OK(cuDevSmResourceSplitByCount(groups, &count, &all_, nullptr,
                                    CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 1));
  EXPECT_EQ(groups[0].sm.smCount, 2U);
}

// cuDevSmResourceSplitByCount
TEST_F(GreenContextTest, given_wrong_arguments_when_split_then_they_are_refused) {
  CUdevResource group{}, rest{};
  unsigned count = 1;
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuDevSmResourceSplitByCount(&group, nullptr, &all_, nullptr, 0, 8));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuDevSmResourceSplitByCount(&group, &count, &all_, nullptr, 0, 109));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuDevSmResourceSplitByCount(&group, &count, &all_, nullptr, 8, 8));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuDevSmResourceSplitByCount(&group, &count, &all_, nullptr,
                                    CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE, 8));
  CUdevResource nothing{};
  CU_IS(CUDA_ERROR_INVALID_RESOURCE_TYPE,
        cuDevSmResourceSplitByCount(&group, &count, &nothing, nullptr, 0, 8));
  CU_OK(cuDevSmResourceSplitByCount(&group, &count, &all_, &rest, 0, 8));
  CU_IS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
        cuDevSmResourceSplitByCount(&nothing, &count, &group, nullptr, 0, 4));
  CU_IS(CUDA_ERROR_INVALID_RESOURCE_TYPE,
        cuDeviceGetDevResource(0, &group, CU_DEV_RESOURCE_TYPE_INVALID));
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetDevResource(7, &group, CU_DEV_RESOURCE_TYPE_SM));
}

// cuDevResourceGenerateDesc
TEST_F(GreenContextTest, given_several_resources_then_only_those_of_one_split_make_a_descriptor) {
  const auto first = two_groups(16);
  const auto second = two_groups(16);
  CUdevResource same[] = {first[0], first[1]};
  CUdevResource mixed[] = {first[0], second[1]};
  CUdevResourceDesc descriptor = nullptr;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc(&descriptor, same, 0));
  CU_IS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
        cuDevResourceGenerateDesc(&descriptor, mixed, 2));
  CU_OK(cuDevResourceGenerateDesc(&descriptor, same, 2));
  CUgreenCtx green = nullptr;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate(&green, descriptor, 0, 0));
  CU_OK(cuGreenCtxCreate(&green, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CUdevResource has{};
  CU_OK(cuGreenCtxGetDevResource(green, &has, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(has.sm.smCount, 32U);
  CU_OK(cuDevSmResourceSplitByCount(&has, new unsigned(1), &has, nullptr, 0, 16));
  EXPECT_EQ(has.sm.smCount, 16U);
  CU_OK(cuGreenCtxDestroy(green));
}

// "Kernels of a green context run only on its SMs": 216 blocks of which each fills half an SM take
// one wave on the whole device and more than six on 16 SMs.
TEST_F(GreenContextTest, given_a_partition_when_a_kernel_runs_then_it_has_only_those_sms) {
  CUstream plain = nullptr;
  CU_OK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
  CUgreenCtx green = make(two_groups(16)[0]);
  CUstream small = stream_of(green);
  const float whole = model_ms(plain, [&] { CU_OK(spin(216, 200, plain)); });
  const float part = model_ms(small, [&] { CU_OK(spin(216, 200, small)); });
  EXPECT_GT(part, 4 * whole);
  CU_OK(cuStreamDestroy(small));
  CU_OK(cuGreenCtxDestroy(green));
}

TEST_F(GreenContextTest, given_disjoint_partitions_then_a_full_one_does_not_slow_the_other) {
  const auto groups = two_groups(16);
  CUgreenCtx a = make(groups[0]), b = make(groups[1]);
  CUstream in_a = stream_of(a), in_b = stream_of(b);
  const auto in_second = [&] { CU_OK(spin(32, 200, in_b)); };
  const float alone = model_ms(in_b, in_second);
  const float beside = model_ms(in_b, in_second, in_a, 320);
  EXPECT_LT(beside, 1.2F * alone);
  // The same two on one partition stand in each other's way.
  CUstream also_a = stream_of(a);
  const float together = model_ms(
      also_a, [&] { CU_OK(spin(32, 200, also_a)); }, in_a, 320);
  EXPECT_GT(together, 2 * alone);
  CU_OK(cuStreamDestroy(also_a));
  for (CUstream stream : {in_a, in_b}) CU_OK(cuStreamDestroy(stream));
  for (CUgreenCtx green : {a, b}) CU_OK(cuGreenCtxDestroy(green));
}

// cuCtxFromGreenCtx, cuStreamGetGreenCtx, cuStreamGetCtx_v2, cuGreenCtxGetId
TEST_F(GreenContextTest, given_it_is_current_then_streams_belong_to_it) {
  CUgreenCtx green = make(two_groups(16)[0]);
  CUcontext converted = nullptr, of_stream = nullptr;
  CUgreenCtx of_null = nullptr;
  CUstream made = nullptr;
  unsigned long long id = 0, current_id = 0;
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(reinterpret_cast<CUcontext>(green)));
  CU_OK(cuCtxFromGreenCtx(&converted, green));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxGetId(nullptr, &id));
  CU_OK(cuCtxPushCurrent(converted));
  CU_OK(cuStreamCreate(&made, 0));
  CU_OK(cuStreamGetCtx_v2(made, &of_stream, &of_null));
  EXPECT_EQ(of_stream, primary_);
  EXPECT_EQ(of_null, green);
  CU_OK(cuStreamGetGreenCtx(nullptr, &of_null));
  EXPECT_EQ(of_null, green);
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamGetCtx_v2(CU_STREAM_PER_THREAD, &of_stream, &of_null));
  CU_OK(cuGreenCtxGetId(green, &id));
  CU_OK(cuGreenCtxGetId(nullptr, &current_id));
  EXPECT_EQ(id, current_id);
  CUdevResource has{};
  CU_OK(cuCtxGetDevResource(converted, &has, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(has.sm.smCount, 16U);
  CU_OK(spin(1, 10, nullptr));  // the primary context's modules are its own
  CU_OK(cuCtxSynchronize());
  CU_OK(cuCtxPopCurrent(nullptr));
  CU_OK(cuStreamGetGreenCtx(nullptr, &of_null));
  EXPECT_EQ(of_null, nullptr);
  CU_OK(cuStreamDestroy(made));
  CU_OK(cuGreenCtxDestroy(green));
}

// cuGreenCtxDestroy
TEST_F(GreenContextTest, given_it_is_destroyed_then_its_streams_say_so) {
  CUgreenCtx green = make(two_groups(16)[0]);
  CUstream stream = stream_of(green);
  CUstream refused = nullptr;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate(&refused, green, CU_STREAM_DEFAULT, 0));
  CU_OK(spin(4, 100, stream));
  CU_OK(cuGreenCtxDestroy(green));
  CU_IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, spin(1, 1, stream));
  CU_IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamSynchronize(stream));
  CU_IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamDestroy(stream));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxDestroy(green));
  unsigned flags = 0;
  int active = 0;
  CU_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  CU_OK(cuCtxSynchronize());
}

// cuGreenCtxRecordEvent, cuGreenCtxWaitEvent
TEST_F(GreenContextTest, given_a_record_of_a_context_then_it_covers_all_its_streams) {
  const auto groups = two_groups(16);
  CUgreenCtx a = make(groups[0]), b = make(groups[1]);
  CUstream a1 = stream_of(a), a2 = stream_of(a), b1 = stream_of(b);
  CUdeviceptr word = 0;
  CU_OK(cuMemAlloc(&word, 8));
  CU_OK(cuMemsetD32(word, 0, 2));
  CUevent event = nullptr;
  CU_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CU_OK(cuStreamWaitValue32(a1, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_OK(cuGreenCtxRecordEvent(a, event));
  CU_OK(cuGreenCtxWaitEvent(b, event));
  CUstream b2 = stream_of(b);  // made later
  CU_OK(spin(1, 10, b1));
  CU_OK(spin(1, 10, b2));
  CU_OK(spin(1, 10, a2));
  CU_OK(cuStreamSynchronize(a2));
  CU_IS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(b1));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(b2));
  CU_OK(cuMemsetD32Async(word, 1, 1, a2));
  for (CUstream stream : {a1, b1, b2}) CU_OK(cuStreamSynchronize(stream));
  CU_OK(cuEventQuery(event));
  for (CUstream stream : {a1, a2, b1, b2}) CU_OK(cuStreamDestroy(stream));
  for (CUgreenCtx green : {a, b}) CU_OK(cuGreenCtxDestroy(green));
  CU_OK(cuMemFree(word));
  CU_OK(cuModuleUnload(module_));
}

// cuCtxRecordEvent, cuCtxWaitEvent: "has a stream in the capture mode"
TEST_F(GreenContextTest, given_a_capture_in_the_context_then_context_events_end_it) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUgraph graph = nullptr;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CU_IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxRecordEvent(primary_, event));
  CU_IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
  CU_OK(cuCtxRecordEvent(primary_, event));
  CU_OK(cuCtxWaitEvent(primary_, event));
  CU_OK(cuEventSynchronize(event));
}

}  // namespace
}  // namespace gacer::simdriver
