// SPDX-License-Identifier: Apache-2.0
// Activity records of a program that adds one to a vector.
#include <algorithm>

#include "runtime/simdevice/tools_hooks.h"
#include "tests/integration/profiling/cupti_recorder.h"
#include "tests/integration/simdriver/sim_fixture.h"
//
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>

namespace gacer::simcupti::test {
namespace {

using simdevice::ToolsHooks;

constexpr auto kKernel = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
constexpr auto kMemcpy = CUPTI_ACTIVITY_KIND_MEMCPY;
constexpr auto kMemset = CUPTI_ACTIVITY_KIND_MEMSET;
constexpr auto kDriver = CUPTI_ACTIVITY_KIND_DRIVER;
constexpr auto kRuntime = CUPTI_ACTIVITY_KIND_RUNTIME;
constexpr auto kExternal = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;

class ActivityTest : public simdriver::DeviceTest {
 protected:
  static ToolsHooks& hooks() {
    CUuuid id{};
    memcpy(id.bytes, simdevice::kToolsHooksId, sizeof id.bytes);
    const void* table = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGetExportTable(&table, &id));
    return *static_cast<ToolsHooks*>(const_cast<void*>(table));
  }
  static CUpti_ActivityAPI only_call(Recorder& recorder, CUpti_CallbackId id) {
    std::vector<CUpti_ActivityAPI> calls = recorder.take<CUpti_ActivityAPI>(kDriver);
    std::erase_if(calls, [&](const CUpti_ActivityAPI& call) { return call.cbid != id; });
    EXPECT_EQ(1U, calls.size()) << "calls with id " << id;
    return calls.empty() ? CUpti_ActivityAPI{} : calls.front();
  }
};

TEST_F(ActivityTest, KernelIsRecordedWithItsShapeAndWithTheCallThatLaunchedIt) {
  const CUdeviceptr data = allocate_ints(std::vector<int>(1000, 1));
  Recorder recorder({kKernel, kDriver});
  CU_OK(add_one(data, 1000));
  CU_OK(cuCtxSynchronize());

  const auto kernels = recorder.take<CUpti_ActivityKernel10>(kKernel);
  ASSERT_EQ(1U, kernels.size());
  const CUpti_ActivityKernel10& kernel = kernels.front();
  EXPECT_STREQ("add_one", kernel.name);
  EXPECT_EQ(16, kernel.gridX);
  EXPECT_EQ(64, kernel.blockX);
  EXPECT_EQ(1, kernel.blockZ);
  EXPECT_GT(kernel.registersPerThread, 0);
  const CUpti_ActivityAPI launch = only_call(recorder, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  const CUpti_ActivityAPI sync = only_call(recorder, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
  EXPECT_EQ(launch.correlationId, kernel.correlationId);
  EXPECT_NE(sync.correlationId, kernel.correlationId);
  EXPECT_EQ(CUPTI_ERROR_MAX_LIMIT_REACHED, recorder.last_result());
  // Time runs on: called, ran, waited for.
  EXPECT_LE(launch.start, launch.end);
  EXPECT_LE(launch.start, kernel.start);
  EXPECT_LT(kernel.start, kernel.end);
  EXPECT_LE(kernel.end, sync.end);
}

TEST_F(ActivityTest, KernelsOfOneStreamFollowEachOtherAndLastAsLongAsEventsSay) {
  CUevent before = nullptr, after = nullptr;
  CU_OK(cuEventCreate(&before, 0));
  CU_OK(cuEventCreate(&after, 0));
  Recorder recorder({kKernel});
  CU_OK(cuEventRecord(before, nullptr));
  for (int i = 0; i < 5; ++i) CU_OK(spin(20'000));
  CU_OK(cuEventRecord(after, nullptr));
  CU_OK(cuEventSynchronize(after));

  auto kernels = recorder.take<CUpti_ActivityKernel10>(kKernel);
  ASSERT_EQ(5U, kernels.size());
  std::sort(kernels.begin(), kernels.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  uint64_t busy_ns = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    busy_ns += kernels[i].end - kernels[i].start;
    if (i > 0) {
      EXPECT_GE(kernels[i].start, kernels[i - 1].end);
    }
  }
  float elapsed_ms = 0;
  CU_OK(cuEventElapsedTime(&elapsed_ms, before, after));
  EXPECT_LE(static_cast<double>(busy_ns), elapsed_ms * 1e6 + 1000);
  EXPECT_GE(static_cast<double>(busy_ns), elapsed_ms * 1e6 * 0.5);
}

TEST_F(ActivityTest, CopiesAndMemsetsSayWhatTheyMoved) {
  std::vector<int> host(500);
  CUdeviceptr data = 0;
  CU_OK(cuMemAlloc(&data, 4000));
  Recorder recorder({kMemcpy, kMemset, kDriver});
  CU_OK(cuMemsetD32(data, 0xABCD, 1000));
  CU_OK(cuMemcpyHtoD(data, host.data(), 2000));
  CU_OK(cuMemcpyDtoD(data + 2000, data, 1000));
  CU_OK(cuMemcpyDtoH(host.data(), data, 400));
  CU_OK(cuCtxSynchronize());

  const auto memsets = recorder.take<CUpti_ActivityMemset4>(kMemset);
  ASSERT_EQ(1U, memsets.size());
  EXPECT_EQ(4000U, memsets[0].bytes);
  EXPECT_EQ(0xABCDU, memsets[0].value);
  EXPECT_EQ(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, memsets[0].memoryKind);
  auto copies = recorder.take<CUpti_ActivityMemcpy6>(kMemcpy);
  ASSERT_EQ(3U, copies.size());
  std::sort(copies.begin(), copies.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  EXPECT_EQ(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, copies[0].copyKind);
  EXPECT_EQ(2000U, copies[0].bytes);
  EXPECT_EQ(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, copies[0].srcKind);
  EXPECT_EQ(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, copies[0].dstKind);
  EXPECT_EQ(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, copies[1].copyKind);
  EXPECT_EQ(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, copies[2].copyKind);
  EXPECT_EQ(400U, copies[2].bytes);
  EXPECT_EQ(only_call(recorder, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2).correlationId,
            copies[2].correlationId);
}

TEST_F(ActivityTest, IdsOfContextAndStreamAreThoseThatCuptiGives) {
  CUstream stream = nullptr;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr data = allocate_ints({1});
  Recorder recorder({kKernel});
  CU_OK(add_one(data, 1, stream));
  CU_OK(add_one(data, 1));
  CU_OK(cuCtxSynchronize());

  uint32_t context = 0, own = 0, usual = 0, device = 99;
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetContextId(context_, &context));
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetStreamId(context_, stream, &own));
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetStreamId(context_, nullptr, &usual));
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetDeviceId(context_, &device));
  const auto kernels = recorder.take<CUpti_ActivityKernel10>(kKernel);
  ASSERT_EQ(2U, kernels.size());
  for (const auto& kernel : kernels) {
    EXPECT_EQ(context, kernel.contextId);
    EXPECT_EQ(device, kernel.deviceId);
    EXPECT_TRUE(kernel.streamId == own || kernel.streamId == usual);
  }
  EXPECT_NE(kernels[0].streamId, kernels[1].streamId);
}

TEST_F(ActivityTest, ManyRecordsFillManyBuffersAndNoneIsLost) {
  constexpr int kLaunches = 3000;
  const CUdeviceptr data = allocate_ints({0});
  Recorder recorder({kKernel}, 8 * sizeof(CUpti_ActivityKernel10));
  for (int i = 0; i < kLaunches; ++i) CU_OK(add_one(data, 1));
  CU_OK(cuCtxSynchronize());

  EXPECT_EQ(size_t{kLaunches}, recorder.take<CUpti_ActivityKernel10>(kKernel).size());
  EXPECT_GT(recorder.buffers(), size_t{kLaunches} / 9);
  size_t dropped = 1;
  EXPECT_EQ(CUPTI_SUCCESS, cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
  EXPECT_EQ(0U, dropped);
}

TEST_F(ActivityTest, RecordsWithoutABufferAreCountedAsDropped) {
  const CUdeviceptr data = allocate_ints({0});
  Recorder recorder({kKernel}, 0);
  CU_OK(add_one(data, 1));
  CU_OK(cuCtxSynchronize());
  EXPECT_TRUE(recorder.take<CUpti_ActivityKernel10>(kKernel).empty());
  size_t dropped = 0;
  EXPECT_EQ(CUPTI_SUCCESS, cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
  EXPECT_EQ(1U, dropped);
}

TEST_F(ActivityTest, KernelsOfAGraphBelongToItsLaunch) {
  const CUdeviceptr data = allocate_ints({0});
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < 3; ++i) CU_OK(add_one(data, 1, stream));
  CU_OK(cuStreamEndCapture(stream, &graph));
  CU_OK(cuGraphInstantiate(&executable, graph, 0));
  Recorder recorder({kKernel, kDriver});
  CU_OK(cuGraphLaunch(executable, stream));
  CU_OK(cuStreamSynchronize(stream));

  const auto kernels = recorder.take<CUpti_ActivityKernel10>(kKernel);
  ASSERT_EQ(3U, kernels.size());
  const uint32_t launch = only_call(recorder, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch).correlationId;
  for (const auto& kernel : kernels) EXPECT_EQ(launch, kernel.correlationId);
}

// What libcudart does around its driver calls.
TEST_F(ActivityTest, RuntimeCallItsDriverCallAndTheKernelShareACorrelationId) {
  const CUdeviceptr data = allocate_ints({0});
  ToolsHooks& table = hooks();  // before anything is reported
  Recorder recorder({kKernel, kDriver, kRuntime, kExternal});
  ASSERT_EQ(CUPTI_SUCCESS,
            cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 4711));
  int success = 0;
  simdevice::ToolsCall call;
  call.domain = simdevice::ToolsDomain::kRuntime;
  call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  call.function = "cudaLaunchKernel";
  call.correlation_id = table.next_correlation();
  table.set_thread_correlation(call.correlation_id);
  table.on_call.load()(call, true);
  CU_OK(add_one(data, 1));
  call.result = &success;
  table.on_call.load()(call, false);
  table.set_thread_correlation(0);
  uint64_t popped = 0;
  ASSERT_EQ(CUPTI_SUCCESS, cuptiActivityPopExternalCorrelationId(
                               CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &popped));
  CU_OK(cuCtxSynchronize());

  const auto runtime = recorder.take<CUpti_ActivityAPI>(kRuntime);
  ASSERT_EQ(1U, runtime.size());
  EXPECT_EQ(call.correlation_id, runtime[0].correlationId);
  EXPECT_EQ(call.correlation_id,
            only_call(recorder, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel).correlationId);
  const auto kernels = recorder.take<CUpti_ActivityKernel10>(kKernel);
  ASSERT_EQ(1U, kernels.size());
  EXPECT_EQ(call.correlation_id, kernels[0].correlationId);
  const auto external = recorder.take<CUpti_ActivityExternalCorrelation>(kExternal);
  ASSERT_EQ(1U, external.size());  // for the runtime's call, not again for the driver's
  EXPECT_EQ(4711U, popped);
  EXPECT_EQ(4711U, external[0].externalId);
  EXPECT_EQ(call.correlation_id, external[0].correlationId);
}

TEST_F(ActivityTest, ContextsStreamsAndWaitsHaveRecords) {
  Recorder recorder({CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM,
                     CUPTI_ACTIVITY_KIND_SYNCHRONIZATION});
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CU_OK(cuCtxCreate(&context, nullptr, 0, 0));
  CU_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -2));
  CU_OK(cuStreamSynchronize(stream));
  uint32_t stream_id = 0, context_id = 0;
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetStreamId(context, stream, &stream_id));
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetContextId(context, &context_id));
  CU_OK(cuCtxDestroy(context));

  const auto contexts = recorder.take<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT);
  ASSERT_EQ(1U, contexts.size());
  EXPECT_EQ(context_id, contexts[0].contextId);
  const auto streams = recorder.take<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM);
  ASSERT_EQ(1U, streams.size());
  EXPECT_EQ(stream_id, streams[0].streamId);
  EXPECT_EQ(static_cast<uint32_t>(-2), streams[0].priority);
  const auto waits =
      recorder.take<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  ASSERT_EQ(1U, waits.size());
  EXPECT_EQ(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, waits[0].type);
  EXPECT_EQ(stream_id, waits[0].streamId);
}

TEST_F(ActivityTest, AllocationsAndTheirReleasesAreRecorded) {
  Recorder recorder({CUPTI_ACTIVITY_KIND_MEMORY2});
  CUdeviceptr data = 0;
  void* host = nullptr;
  CU_OK(cuMemAlloc(&data, 1000));
  CU_OK(cuMemAllocHost(&host, 2000));
  CU_OK(cuMemFreeHost(host));
  CU_OK(cuMemFree(data));

  const auto records = recorder.take<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(4U, records.size());
  EXPECT_EQ(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, records[0].memoryOperationType);
  EXPECT_EQ(data, records[0].address);
  EXPECT_EQ(1000U, records[0].bytes);
  EXPECT_EQ(CUPTI_ACTIVITY_MEMORY_KIND_PINNED, records[1].memoryKind);
  EXPECT_EQ(2000U, records[2].bytes);
  EXPECT_EQ(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, records[3].memoryOperationType);
  EXPECT_EQ(data, records[3].address);
  EXPECT_EQ(1000U, records[3].bytes);
}

TEST_F(ActivityTest, DeviceRecordSaysWhatTheDriverSays) {
  Recorder recorder({});
  ASSERT_EQ(CUPTI_SUCCESS, cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE));
  const auto devices = recorder.take<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE);
  ASSERT_EQ(CUPTI_SUCCESS, cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DEVICE));
  ASSERT_EQ(1U, devices.size());
  char name[256] = "";
  CU_OK(cuDeviceGetName(name, sizeof name, 0));
  EXPECT_STREQ(name, devices[0].name);
  EXPECT_EQ(8U, devices[0].computeCapabilityMajor);
  EXPECT_EQ(108U, devices[0].numMultiprocessors);
}

TEST_F(ActivityTest, NothingIsReportedOnceAllKindsAreOff) {
  const CUdeviceptr data = allocate_ints({0});
  {
    Recorder recorder({kKernel, kDriver});
    EXPECT_NE(nullptr, hooks().on_call.load());
    EXPECT_NE(nullptr, hooks().on_activity.load());
  }
  EXPECT_EQ(nullptr, hooks().on_call.load());
  EXPECT_EQ(nullptr, hooks().on_activity.load());
  CU_OK(add_one(data, 1));
  CU_OK(cuCtxSynchronize());
}

TEST_F(ActivityTest, KindsAndBuffersThatAreNoneAreRefused) {
  EXPECT_EQ(CUPTI_ERROR_INVALID_KIND, cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID));
  EXPECT_EQ(CUPTI_ERROR_INVALID_KIND, cuptiActivityEnable(CUPTI_ACTIVITY_KIND_COUNT));
  EXPECT_EQ(CUPTI_ERROR_NOT_COMPATIBLE, cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING));
  alignas(8) uint8_t bytes[64];
  memset(bytes, 0xEE, sizeof bytes);
  CUpti_Activity* record = nullptr;
  EXPECT_EQ(CUPTI_ERROR_INVALID_KIND, cuptiActivityGetNextRecord(bytes, sizeof bytes, &record));
  EXPECT_EQ(CUPTI_ERROR_INVALID_PARAMETER, cuptiActivityGetNextRecord(nullptr, 64, &record));
  uint64_t id = 0;
  EXPECT_EQ(CUPTI_ERROR_QUEUE_EMPTY,
            cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, &id));
}

TEST_F(ActivityTest, AttributesKeepWhatWasSet) {
  size_t value = 12345, size = sizeof value;
  ASSERT_EQ(CUPTI_SUCCESS,
            cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
  value = 0;
  ASSERT_EQ(CUPTI_SUCCESS,
            cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
  EXPECT_EQ(12345U, value);
  size = 1;
  EXPECT_EQ(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT,
            cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
}

TEST_F(ActivityTest, VersionAndResultsAreNamed) {
  uint32_t version = 0;
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetVersion(&version));
  EXPECT_EQ(static_cast<uint32_t>(CUPTI_API_VERSION), version);
  const char* text = nullptr;
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetResultString(CUPTI_ERROR_NOT_COMPATIBLE, &text));
  EXPECT_STREQ("CUPTI_ERROR_NOT_COMPATIBLE", text);
}

}  // namespace
}  // namespace gacer::simcupti::test
