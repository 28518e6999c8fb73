// SPDX-License-Identifier: Apache-2.0
// Streams, events, values, host functions.
#include <atomic>
#include <thread>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

class StreamTest : public DeviceTest {
 protected:
  CUstream new_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuStreamCreate(&stream, flags));
    return stream;
  }
  CUevent new_event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent event = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&event, flags));
    return event;
  }
  // A stream held up until release() is called.
  void hold(CUstream stream) {
    EXPECT_EQ(CUDA_SUCCESS, cuStreamWaitValue32(stream, flag(), 1, CU_STREAM_WAIT_VALUE_EQ));
  }
  void release() { std::atomic_ref<int>(*flag_).store(1, std::memory_order_release); }
  CUdeviceptr flag() {
    if (flag_ == nullptr) {
      void* host = nullptr;
      EXPECT_EQ(CUDA_SUCCESS, cuMemHostAlloc(&host, 64, 0));
      flag_ = static_cast<int*>(host);
    }
    return reinterpret_cast<CUdeviceptr>(flag_);
  }
  int* flag_ = nullptr;
};

TEST_F(StreamTest, QueryIsNotReadyUntilTheWorkIsDone) {
  CUstream stream = new_stream();
  CU_IS(CUDA_SUCCESS, cuStreamQuery(stream));
  hold(stream);
  CUdeviceptr data = 0;
  CU_OK(cuMemAlloc(&data, 4));
  CU_OK(cuMemsetD32Async(data, 5, 1, stream));
  CUevent event = new_event();
  CU_OK(cuEventRecord(event, stream));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
  CU_IS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  release();
  CU_OK(cuEventSynchronize(event));
  CU_IS(CUDA_SUCCESS, cuStreamQuery(stream));
  EXPECT_EQ(read_ints(data, 1)[0], 5);
}

TEST_F(StreamTest, AnEventOrdersTwoStreams) {
  CUstream first = new_stream();
  CUstream second = new_stream();
  CUevent event = new_event(CU_EVENT_DISABLE_TIMING);
  CUdeviceptr data = allocate_ints({1});
  hold(first);
  CU_OK(cuMemsetD32Async(data, 10, 1, first));
  CU_OK(cuEventRecord(event, first));
  CU_OK(cuStreamWaitEvent(second, event, 0));
  CU_OK(add_one(data, 1, second));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(second));
  release();
  CU_OK(cuStreamSynchronize(second));
  EXPECT_EQ(read_ints(data, 1)[0], 11);
}

TEST_F(StreamTest, WaitingForAnEventThatWasNeverRecordedIsNothing) {
  CUstream stream = new_stream();
  CUevent event = new_event();
  CU_OK(cuStreamWaitEvent(stream, event, 0));
  CU_OK(cuStreamSynchronize(stream));
  CU_IS(CUDA_SUCCESS, cuEventQuery(event));
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingStreamsOnly) {
  CUstream blocking = new_stream(CU_STREAM_DEFAULT);
  CUdeviceptr data = allocate_ints({1});
  hold(blocking);
  CU_OK(cuMemsetD32Async(data, 20, 1, blocking));
  CU_OK(add_one(data, 1));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
  release();
  CU_OK(cuStreamSynchronize(CU_STREAM_LEGACY));
  EXPECT_EQ(read_ints(data, 1)[0], 21);
}

TEST_F(StreamTest, ANonBlockingStreamDoesNotHoldUpTheLegacyStream) {
  CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
  CUdeviceptr data = allocate_ints({1});
  hold(other);
  CU_OK(add_one(data, 1));
  CU_OK(cuStreamSynchronize(CU_STREAM_LEGACY));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(other));
  release();
  CU_OK(cuStreamSynchronize(other));
}

TEST_F(StreamTest, ElapsedTimeGrowsWithTheWork) {
  CUevent start = new_event(), middle = new_event(), end = new_event();
  CUstream stream = new_stream();
  // Held until all is queued: a pause of this process would count as time between the events.
  hold(stream);
  CU_OK(cuEventRecord(start, stream));
  CU_OK(spin(1000, stream));
  CU_OK(cuEventRecord(middle, stream));
  CU_OK(spin(100000, stream));
  CU_OK(cuEventRecord(end, stream));
  release();
  CU_OK(cuEventSynchronize(end));
  float brief = 0, lengthy = 0;
  CU_OK(cuEventElapsedTime(&brief, start, middle));
  CU_OK(cuEventElapsedTime(&lengthy, middle, end));
  EXPECT_GT(brief, 0);
  EXPECT_GT(lengthy, 10 * brief);
}

TEST_F(StreamTest, ElapsedTimeNeedsTwoFinishedTimedRecords) {
  CUevent timed = new_event();
  CUevent untimed = new_event(CU_EVENT_DISABLE_TIMING);
  float ms = 0;
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, timed, timed));
  CU_OK(cuEventRecord(timed, nullptr));
  CU_OK(cuEventRecord(untimed, nullptr));
  CU_OK(cuCtxSynchronize());
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, timed, untimed));
  CUstream stream = new_stream();
  hold(stream);
  CUevent later = new_event();
  CU_OK(cuEventRecord(later, stream));
  CU_IS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, timed, later));
  release();
  CU_OK(cuStreamSynchronize(stream));
}

TEST_F(StreamTest, HostFunctionsRunInOrderOnAnotherThread) {
  struct Trace {
    std::atomic<int> count{0};
    int value_at_first = 0;
    int* memory = nullptr;
    std::thread::id thread;
  } trace;
  void* host = nullptr;
  CU_OK(cuMemHostAlloc(&host, 64, 0));
  trace.memory = static_cast<int*>(host);
  *trace.memory = 1;
  CUstream stream = new_stream();
  CU_OK(add_one(reinterpret_cast<CUdeviceptr>(host), 1, stream));
  const CUhostFn first = [](void* data) {
    auto* t = static_cast<Trace*>(data);
    t->value_at_first = *t->memory;
    t->thread = std::this_thread::get_id();
    t->count.fetch_add(1);
  };
  CU_OK(cuLaunchHostFunc(stream, first, &trace));
  CU_OK(add_one(reinterpret_cast<CUdeviceptr>(host), 1, stream));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(trace.count.load(), 1);
  EXPECT_EQ(trace.value_at_first, 2);
  EXPECT_EQ(*trace.memory, 3);
  EXPECT_NE(trace.thread, std::this_thread::get_id());
}

TEST_F(StreamTest, RequestsAreAnsweredWhileAHostFunctionRuns) {
  std::atomic<bool> entered{false}, leave{false};
  std::pair<std::atomic<bool>*, std::atomic<bool>*> flags{&entered, &leave};
  const CUhostFn wait = [](void* data) {
    auto* f = static_cast<std::pair<std::atomic<bool>*, std::atomic<bool>*>*>(data);
    f->first->store(true);
    while (!f->second->load()) std::this_thread::yield();
  };
  CUstream stream = new_stream();
  CU_OK(cuLaunchHostFunc(stream, wait, &flags));
  while (!entered.load()) std::this_thread::yield();
  CUdeviceptr data = 0;
  CU_OK(cuMemAlloc(&data, 1024));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
  leave.store(true);
  CU_OK(cuStreamSynchronize(stream));
}

TEST_F(StreamTest, CallbacksGetTheirStreamAndSuccess) {
  struct Seen {
    CUstream stream = nullptr;
    CUresult status = CUDA_ERROR_UNKNOWN;
  } seen;
  CUstream stream = new_stream();
  const CUstreamCallback note = [](CUstream s, CUresult status, void* data) {
    *static_cast<Seen*>(data) = {s, status};
  };
  CU_OK(cuStreamAddCallback(stream, note, &seen, 0));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(seen.stream, stream);
  EXPECT_EQ(seen.status, CUDA_SUCCESS);
}

TEST_F(StreamTest, ValuesAreWrittenIntoRegisteredHostMemory) {
  alignas(4096) static uint64_t words[512];
  CU_OK(cuMemHostRegister(words, sizeof words, 0));
  CU_IS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(words + 8, 64, 0));
  CUstream stream = new_stream();
  const auto address = reinterpret_cast<CUdeviceptr>(words);
  CU_OK(cuStreamWriteValue64(stream, address, 0x1122334455667788, 0));
  CU_OK(cuStreamWriteValue32(stream, address + 8, 77, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(stream, address + sizeof words, 1, 0));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(std::atomic_ref(words[0]).load(), 0x1122334455667788U);
  EXPECT_EQ(std::atomic_ref(words[1]).load(), 77U);
  CU_OK(cuMemHostUnregister(words));
  CU_IS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(words));
}

TEST_F(StreamTest, BatchesOfValuesWork) {
  CUdeviceptr data = allocate_ints({0, 0, 0, 0});
  CUstreamBatchMemOpParams list[2] = {};
  list[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  list[0].writeValue.address = data;
  list[0].writeValue.value = 3;
  list[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  list[1].waitValue.address = data;
  list[1].waitValue.value = 3;
  list[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  CUstream stream = new_stream();
  CU_OK(cuStreamBatchMemOp(stream, 2, list, 0));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read_ints(data, 1)[0], 3);
}

TEST_F(StreamTest, PrioritiesAreClampedAndReadBack) {
  int least = 1, greatest = 1, priority = 1;
  CU_OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
  CUstream stream = nullptr;
  CU_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100));
  CU_OK(cuStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, -5);
  unsigned flags = 0;
  CU_OK(cuStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&stream, 8));
}

TEST_F(StreamTest, EveryThreadHasItsOwnPerThreadStream) {
  unsigned long long main_id = 0, again = 0, other = 0;
  CU_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &main_id));
  CU_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &again));
  std::thread([&] {
    cuCtxSetCurrent(context_);
    cuStreamGetId(CU_STREAM_PER_THREAD, &other);
  }).join();
  EXPECT_EQ(main_id, again);
  EXPECT_NE(main_id, other);
  EXPECT_NE(other, 0U);
}

TEST_F(StreamTest, DestroyedHandlesAreInvalidAndTheirWorkStillRuns) {
  CUstream stream = new_stream();
  CUdeviceptr data = allocate_ints({1});
  hold(stream);
  CU_OK(add_one(data, 1, stream));
  CU_OK(cuStreamDestroy(stream));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
  release();
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(data, 1)[0], 2);
}

TEST_F(StreamTest, MoreStreamsThanIdsCanBeMadeOneAfterTheOther) {
  CUdeviceptr data = allocate_ints({0});
  for (int i = 0; i < 1500; ++i) {
    CUstream stream = nullptr;
    CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (i % 100 == 0) {
      CU_OK(add_one(data, 1, stream));
    }
    CU_OK(cuStreamDestroy(stream));
    if (i % 500 == 0) {
      CU_OK(cuCtxSynchronize());
    }
  }
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(data, 1)[0], 15);
}

TEST_F(StreamTest, ThreadsMayUseOneContextAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  std::vector<CUdeviceptr> data;
  for (int i = 0; i < kThreads; ++i) data.push_back(allocate_ints({0}));
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      CUstream stream = nullptr;
      if (cuCtxSetCurrent(context_) != CUDA_SUCCESS ||
          cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        ++failures;
      for (int i = 0; i < kRounds; ++i) {
        CUdeviceptr scratch = 0;
        if (cuMemAlloc(&scratch, 256) != CUDA_SUCCESS ||
            add_one(data[t], 1, stream) != CUDA_SUCCESS || cuMemFree(scratch) != CUDA_SUCCESS)
          ++failures;
      }
      if (cuStreamSynchronize(stream) != CUDA_SUCCESS) ++failures;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(read_ints(data[t], 1)[0], kRounds);
}

}  // namespace
}  // namespace gacer::simdriver
