// SPDX-License-Identifier: Apache-2.0
// Rules of the driver API, one a case: which error, in which order, for which handle. Each case
// names the page of CUDA Driver API 13.0 that it is from.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/integration/simdriver/sim_fixture.h"

// Deprecated calls are still there to be called.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace gacer::simdriver {
namespace {

class RulesTest : public DeviceTest {
 protected:
  CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuStreamCreate(&stream, flags));
    return stream;
  }
  CUevent make_event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent event = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&event, flags));
    return event;
  }
  // A stream that stands still until release() is called.
  CUdeviceptr hold(CUstream stream) {
    CUdeviceptr word = allocate_ints({0});
    EXPECT_EQ(CUDA_SUCCESS, cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
    return word;
  }
  void release(CUdeviceptr word) {
    CUstream other = make_stream();
    EXPECT_EQ(CUDA_SUCCESS, cuStreamWriteValue32(other, word, 1, 0));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamSynchronize(other));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamDestroy(other));
  }
};

// Stream Management, cuLaunchHostFunc: "must not make any CUDA API calls ... may result in
// CUDA_ERROR_NOT_PERMITTED"
TEST_F(RulesTest, given_a_host_function_when_it_calls_the_driver_then_it_is_not_permitted) {
  struct Seen {
    CUresult alloc = CUDA_SUCCESS, record = CUDA_SUCCESS, current = CUDA_SUCCESS;
    CUevent event = nullptr;
  } seen;
  seen.event = make_event();
  const auto body = [](void* data) {
    auto& out = *static_cast<Seen*>(data);
    CUdeviceptr address = 0;
    CUcontext context = nullptr;
    out.alloc = cuMemAlloc(&address, 16);
    out.record = cuEventRecord(out.event, nullptr);
    out.current = cuCtxGetCurrent(&context);
  };
  CUstream stream = make_stream();
  CU_OK(cuLaunchHostFunc(stream, body, &seen));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(seen.alloc, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(seen.record, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(seen.current, CUDA_ERROR_NOT_PERMITTED);
  CU_OK(add_one(allocate_ints({0}), 1, stream));  // the stream is none the worse
  CU_OK(cuStreamSynchronize(stream));
}

// Stream Management, cuStreamDestroy: "returns immediately and resources released once done"
TEST_F(RulesTest,
       given_pending_work_when_its_stream_is_destroyed_then_the_call_returns_and_it_runs) {
  CUdeviceptr data = allocate_ints({0});
  CUstream stream = make_stream();
  CUdeviceptr gate = hold(stream);
  CU_OK(add_one(data, 1, stream));
  CU_OK(cuStreamDestroy(stream));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
  EXPECT_EQ(read_ints(data, 1)[0], 0);
  release(gate);
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(data, 1)[0], 1);
}

// Event Management, cuEventRecord: "hEvent and hStream must be from the same context otherwise
// CUDA_ERROR_INVALID_HANDLE"; cuStreamWaitEvent: "may be from a different context"
TEST_F(RulesTest, given_two_contexts_then_events_are_recorded_at_home_and_waited_for_anywhere) {
  CUevent event = make_event();
  CUstream here = make_stream();
  CUcontext other = nullptr;
  CU_OK(cuCtxCreate(&other, nullptr, 0, 0));
  CUstream there = make_stream();
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, there));
  CUdeviceptr gate = hold(there);
  CU_OK(cuEventRecord(event, here));
  CU_OK(cuStreamWaitEvent(there, event, 0));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(there));
  release(gate);
  CU_OK(cuStreamSynchronize(there));
  CU_OK(cuCtxDestroy(other));
}

// Execution Control, cuLaunchKernel: a stream of another context
TEST_F(RulesTest, given_a_function_of_another_context_then_the_launch_is_an_invalid_handle) {
  CUdeviceptr data = allocate_ints({0});
  CUfunction mine = function("add_one");
  CUcontext other = nullptr;
  CU_OK(cuCtxCreate(&other, nullptr, 0, 0));
  CUstream there = make_stream();
  unsigned n = 1;
  void* params[] = {&data, &n};
  CU_IS(CUDA_ERROR_INVALID_HANDLE,
        cuLaunchKernel(mine, 1, 1, 1, 1, 1, 1, 0, there, params, nullptr));
  CU_OK(cuCtxDestroy(other));
}

// Event Management, cuEventDestroy: "an event may be destroyed before it is complete"
TEST_F(RulesTest, given_a_pending_event_when_destroyed_then_those_that_wait_still_wait) {
  CUstream first = make_stream(), second = make_stream();
  CUdeviceptr gate = hold(first);
  CUevent event = make_event();
  CU_OK(cuEventRecord(event, first));
  CU_OK(cuStreamWaitEvent(second, event, 0));
  CU_OK(cuEventDestroy(event));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(second));
  release(gate);
  CU_OK(cuStreamSynchronize(second));
}

// Event Management, cuEventRecord: "calls after this do not affect earlier waits"
TEST_F(RulesTest, given_an_event_recorded_again_then_an_earlier_wait_means_the_earlier_record) {
  CUstream first = make_stream(), second = make_stream(), third = make_stream();
  CUevent event = make_event();
  CU_OK(cuEventRecord(event, first));
  CU_OK(cuStreamWaitEvent(third, event, 0));
  CUdeviceptr gate = hold(second);
  CU_OK(cuEventRecord(event, second));
  CU_OK(cuStreamSynchronize(third));
  CU_IS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  release(gate);
  CU_OK(cuEventSynchronize(event));
}

// Event Management, cuEventElapsedTime: which error
TEST_F(RulesTest, given_events_without_time_then_no_elapsed_time_is_told) {
  CUstream stream = make_stream();
  CUevent timed = make_event(0), untimed = make_event(), fresh = make_event(0);
  CU_OK(cuEventRecord(timed, stream));
  CU_OK(cuEventRecord(untimed, stream));
  CU_OK(cuStreamSynchronize(stream));
  float ms = 0;
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, timed, untimed));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, timed, fresh));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, timed, nullptr));
  CUdeviceptr gate = hold(stream);
  CU_OK(cuEventRecord(fresh, stream));
  CU_IS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, timed, fresh));
  release(gate);
  CU_OK(cuStreamSynchronize(stream));
  CU_OK(cuEventElapsedTime(&ms, timed, fresh));
}

// API synchronisation behaviour, "Memcpy": pageable memory has been read when the call returns
TEST_F(RulesTest, given_pageable_memory_when_an_async_copy_returns_then_it_may_be_changed) {
  CUstream stream = make_stream();
  std::vector<int> source(1024, 1);
  CUdeviceptr data = allocate_ints(std::vector<int>(1024));
  CU_OK(cuMemcpyHtoDAsync(data, source.data(), 4096, stream));
  source.assign(1024, 2);
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read_ints(data, 1)[0], 1);
}

// The same: pinned memory is copied when the stream gets there
TEST_F(RulesTest, given_pinned_memory_when_an_async_copy_returns_then_it_is_still_to_be_read) {
  CUstream stream = make_stream();
  int* pinned = nullptr;
  CU_OK(cuMemAllocHost(reinterpret_cast<void**>(&pinned), 4));
  *pinned = 1;
  CUdeviceptr data = allocate_ints({0});
  CUdeviceptr gate = hold(stream);
  CU_OK(cuMemcpyHtoDAsync(data, pinned, 4, stream));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
  *pinned = 2;
  release(gate);
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read_ints(data, 1)[0], 2);
  CU_OK(cuMemFreeHost(pinned));
}

// Stream synchronisation behaviour: the per-thread default stream synchronises with the legacy one
TEST_F(RulesTest, given_the_default_streams_then_legacy_waits_for_per_thread_work_and_back) {
  CUdeviceptr data = allocate_ints({0});
  CUdeviceptr gate = hold(CU_STREAM_PER_THREAD);
  CU_OK(add_one(data, 1, CU_STREAM_LEGACY));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
  CUstream free_stream = make_stream();
  CU_OK(add_one(data, 1, free_stream));  // non-blocking: not held up
  CU_OK(cuStreamSynchronize(free_stream));
  release(gate);
  CU_OK(cuStreamSynchronize(CU_STREAM_LEGACY));
  EXPECT_EQ(read_ints(data, 1)[0], 2);
}

// Context Management, cuCtxDestroy: "If the context is current to any threads, it remains current";
// then CUDA_ERROR_CONTEXT_IS_DESTROYED
TEST_F(RulesTest, given_a_context_current_elsewhere_when_destroyed_then_that_thread_is_told) {
  CUcontext other = nullptr;
  CU_OK(cuCtxCreate(&other, nullptr, 0, 0));
  CU_OK(cuCtxPopCurrent(nullptr));
  std::atomic<int> step{0};
  CUresult alloc = CUDA_SUCCESS, synchronize = CUDA_SUCCESS;
  std::thread thread([&] {
    cuCtxSetCurrent(other);
    step = 1;
    while (step != 2) std::this_thread::yield();
    CUdeviceptr address = 0;
    alloc = cuMemAlloc(&address, 16);
    synchronize = cuCtxSynchronize();
  });
  while (step != 1) std::this_thread::yield();
  CU_OK(cuCtxDestroy(other));
  step = 2;
  thread.join();
  EXPECT_EQ(alloc, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(synchronize, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(other));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(other));
}

// Context Management, cuCtxAttach, cuCtxDetach [deprecated]
TEST_F(RulesTest, given_an_attached_context_then_only_the_last_detach_destroys_it) {
  CUcontext other = nullptr, attached = nullptr;
  CU_OK(cuCtxCreate(&other, nullptr, 0, 0));
  CU_OK(cuCtxAttach(&attached, 0));
  EXPECT_EQ(attached, other);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuCtxAttach(&attached, 1));
  CU_OK(cuCtxDetach(other));
  CU_OK(cuCtxSynchronize());
  CU_OK(cuCtxDetach(other));
  CUcontext current = nullptr;
  CU_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
}

// Context Management, cuCtxCreate_v4, "Execution affinity": without MPS there is none
TEST_F(RulesTest, given_no_mps_then_execution_affinity_is_not_supported) {
  int supported = 1;
  CU_OK(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  EXPECT_EQ(supported, 0);
  CUexecAffinityParam affinity{};
  affinity.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
  affinity.param.smCount.val = 10;
  CUctxCreateParams params{};
  params.execAffinityParams = &affinity;
  params.numExecAffinityParams = 1;
  CUcontext context = nullptr;
  CU_IS(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate(&context, &params, 0, 0));
  CU_IS(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
        cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
}

// Stream Management, cuStreamCopyAttributes, cuStreamSetAttribute
TEST_F(RulesTest, given_stream_attributes_then_they_are_kept_and_copied) {
  CUstream from = make_stream(), to = make_stream();
  CUstreamAttrValue value{}, read{};
  CU_OK(cuStreamGetAttribute(from, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &read));
  EXPECT_EQ(read.syncPolicy, CU_SYNC_POLICY_AUTO);
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  CU_OK(cuStreamSetAttribute(from, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  CU_OK(cuStreamCopyAttributes(to, from));
  CU_OK(cuStreamGetAttribute(to, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &read));
  EXPECT_EQ(read.syncPolicy, CU_SYNC_POLICY_YIELD);
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuStreamSetAttribute(from, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamCopyAttributes(to, reinterpret_cast<CUstream>(8)));
}

// Memory Management, cuMemcpyBatchAsync
TEST_F(RulesTest, given_a_batch_of_copies_then_all_arrive_or_none_is_started) {
  CUstream stream = make_stream();
  CUdeviceptr a = allocate_ints({1, 2}), b = allocate_ints({0, 0});
  CUdeviceptr dsts[] = {b, b + 4}, srcs[] = {a + 4, a};
  size_t sizes[] = {4, 4}, first[] = {0};
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, first, 1, nullptr));
  size_t wrong_first[] = {1};
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, wrong_first, 1, stream));
  size_t too_long[] = {4, 1 << 20};
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuMemcpyBatchAsync(dsts, srcs, too_long, 2, &attributes, first, 1, stream));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read_ints(b, 2), (std::vector<int>{0, 0}));
  CU_OK(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, first, 1, stream));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read_ints(b, 2), (std::vector<int>{2, 1}));
}

// Memory Management, cuMemcpy3DBatchAsync
TEST_F(RulesTest, given_a_batch_of_boxes_then_rows_have_the_lengths_given) {
  CUstream stream = make_stream();
  CUdeviceptr a = allocate_ints({1, 2, 3, 4, 5, 6}), b = allocate_ints({0, 0, 0, 0});
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = a;
  op.src.op.ptr.rowLength = 12;
  op.dst.op.ptr.ptr = b;
  op.extent = {8, 2, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CU_OK(cuMemcpy3DBatchAsync(1, &op, 0, stream));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read_ints(b, 4), (std::vector<int>{1, 2, 4, 5}));
  op.src.op.ptr.rowLength = 4;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync(1, &op, 0, stream));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync(0, &op, 0, stream));
}

// Unified Memory, cuMemPrefetchBatchAsync, cuMemDiscardBatchAsync
TEST_F(RulesTest, given_batches_of_managed_ranges_then_each_has_its_place) {
  CUstream stream = make_stream();
  CUdeviceptr managed = 0;
  CU_OK(cuMemAllocManaged(&managed, 1 << 16, CU_MEM_ATTACH_GLOBAL));
  CUdeviceptr ranges[] = {managed, managed + 8192};
  size_t sizes[] = {8192, 8192}, first[] = {0, 1};
  CUmemLocation places[] = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, {CU_MEM_LOCATION_TYPE_HOST, {0}}};
  CU_OK(cuMemPrefetchBatchAsync(ranges, sizes, 2, places, first, 2, 0, stream));
  int where = 7;
  const auto last = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
  CU_OK(cuMemRangeGetAttribute(&where, sizeof where, last, managed, 8192));
  EXPECT_EQ(where, 0);
  CU_OK(cuMemRangeGetAttribute(&where, sizeof where, last, managed + 8192, 8192));
  EXPECT_EQ(where, CU_DEVICE_CPU);
  CU_OK(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, stream));
  CU_OK(cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 2, places, first, 2, 0, stream));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync(ranges, sizes, 2, 1, stream));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync(ranges, sizes, 2, 0, nullptr));
  CUdeviceptr plain[] = {allocate_ints({1})};
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync(plain, sizes, 1, 0, stream));
  CU_OK(cuMemFree(managed));
}

// Execution Control [deprecated], cuFuncSetBlockShape ... cuLaunchGridAsync
TEST_F(RulesTest, given_a_launch_of_the_old_kind_then_it_runs_with_the_shape_and_values_set) {
  CUdeviceptr data = allocate_ints({0, 0, 0});
  CUfunction add = function("add_one");
  CU_OK(cuFuncSetBlockShape(add, 3, 1, 1));
  CU_OK(cuFuncSetSharedSize(add, 0));
  CU_OK(cuParamSetSize(add, 12));
  CU_OK(cuParamSetv(add, 0, &data, 8));
  CU_OK(cuParamSeti(add, 8, 3));
  CU_OK(cuLaunch(add));
  CU_OK(cuParamSeti(add, 8, 1));
  CU_OK(cuLaunchGrid(add, 1, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(add, 0, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(add, 0, 1, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuParamSeti(add, 5000, 1));
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(data, 3), (std::vector<int>{2, 1, 1}));
}

// Device Management
TEST_F(RulesTest, given_questions_about_devices_then_answers_agree_with_the_attributes) {
  size_t width = 0;
  CU_OK(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 4, 0));
  EXPECT_EQ(width, 268435456U);
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 3, 0));
  char luid[8];
  unsigned mask = 0;
  CU_IS(CUDA_ERROR_NOT_SUPPORTED, cuDeviceGetLuid(luid, &mask, 0));
  CUatomicOperation add = CU_ATOMIC_OPERATION_INTEGER_ADD;
  unsigned can = 1;
  CU_OK(cuDeviceGetHostAtomicCapabilities(&can, &add, 1, 0));
  EXPECT_EQ(can, 0U);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(&can, &add, 0, 0));
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetP2PAtomicCapabilities(&can, &add, 1, 0, 0));
  CU_IS(CUDA_ERROR_NOT_SUPPORTED,
        cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                   CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
}

// Error Log Management
TEST_F(RulesTest, given_a_complaint_then_it_is_called_back_and_can_be_read) {
  std::string heard;
  CUlogsCallbackHandle callback = nullptr;
  CU_OK(cuLogsRegisterCallback(
      [](void* data, CUlogLevel, char* text, size_t bytes) {
        static_cast<std::string*>(data)->append(text, bytes);
      },
      &heard, &callback));
  CUlogIterator from = 0;
  CU_OK(cuLogsCurrent(&from, 0));
  CUmodule module = nullptr;
  EXPECT_NE(CUDA_SUCCESS, cuModuleLoadData(&module, ".version 7.0\n.target sm_70\nnonsense\n"));
  EXPECT_FALSE(heard.empty());
  CUlogIterator again = from;
  char text[2048];
  size_t bytes = sizeof text;
  CU_OK(cuLogsDumpToMemory(&from, text, &bytes, 0));
  EXPECT_EQ(std::string(text), heard + "\n");
  EXPECT_EQ(bytes, heard.size() + 1);
  bytes = sizeof text;
  CU_OK(cuLogsDumpToMemory(&from, text, &bytes, 0));  // nothing further
  EXPECT_EQ(bytes, 0U);
  bytes = 4;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuLogsDumpToMemory(&again, text, &bytes, 0));
  CU_OK(cuLogsUnregisterCallback(callback));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuLogsUnregisterCallback(callback));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuLogsCurrent(&from, 1));
}

// Occupancy: clusters came with compute capability 9.0
TEST_F(RulesTest, given_a_device_without_clusters_then_their_occupancy_is_not_supported) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128;
  config.blockDimY = config.blockDimZ = 1;
  int clusters = 0;
  CU_IS(CUDA_ERROR_NOT_SUPPORTED,
        cuOccupancyMaxPotentialClusterSize(&clusters, function("spin"), &config));
  CU_IS(CUDA_ERROR_NOT_SUPPORTED,
        cuOccupancyMaxActiveClusters(&clusters, function("spin"), &config));
}

// What is not there says so, and is listed with its reason.
TEST_F(RulesTest, given_what_is_listed_as_not_supported_then_each_says_so_to_anybody) {
  const char* const names[] = {
#define ROW(name) #name,
#include "runtime/simdevice/driver/not_supported.def"
#undef ROW
  };
  for (const char* name : names) {
    const auto call = reinterpret_cast<CUresult (*)(...)>(dlsym(RTLD_DEFAULT, name));
    ASSERT_NE(call, nullptr) << name;
    // Eight words of zeros are more than any of them takes in registers.
    EXPECT_EQ(call(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
              CUDA_ERROR_NOT_SUPPORTED)
        << name;
  }
}

// Every handle: NULL and invented ones
TEST_F(RulesTest, given_handles_that_never_were_then_each_family_has_its_error) {
  const auto invented = [](auto& handle) { memset(&handle, 0x50, sizeof handle); };
  CUstream stream;
  CUevent event;
  CUmodule module;
  CUfunction function;
  CUcontext context;
  CUgraph graph;
  CUgraphExec exec;
  CUgreenCtx green;
  CUmemoryPool pool;
  invented(stream);
  invented(event);
  invented(module);
  invented(function);
  invented(context);
  invented(graph);
  invented(exec);
  invented(green);
  invented(pool);
  int value = 0;
  CUstream made = nullptr;
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(nullptr, nullptr));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(nullptr, event, 0));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
  CU_IS(CUDA_ERROR_INVALID_HANDLE,
        cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
  CU_IS(CUDA_ERROR_INVALID_HANDLE,
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(context));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(context));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxStreamCreate(&made, green, 1, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo(pool, 0));
}

}  // namespace
}  // namespace gacer::simdriver
