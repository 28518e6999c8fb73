// SPDX-License-Identifier: Apache-2.0
// Memory that one process gives to another.
#include <sys/socket.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tests/integration/simdriver/child.h"
#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

constexpr size_t kPart = 2 << 20;

// One byte with room for one descriptor beside it.
struct DescriptorMessage {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  DescriptorMessage() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;
};

// Descriptors and plain values from one child to the other.
struct Channel {
  int ends[2];
  Channel() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0); }

  void send_fd(int fd) const {
    DescriptorMessage message;
    cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    EXPECT_EQ(sendmsg(ends[0], &message.header, 0), 1);
  }
  int receive_fd() const {
    DescriptorMessage message;
    EXPECT_EQ(recvmsg(ends[1], &message.header, 0), 1);
    int fd = -1;
    if (CMSG_FIRSTHDR(&message.header) != nullptr)
      memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof fd);
    return fd;
  }
  template <typename T>
  void send(const T& value) const {
    EXPECT_EQ(write(ends[0], &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <typename T>
  T receive() const {
    T value{};
    EXPECT_EQ(read(ends[1], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
};

CUresult open_context() {
  CUcontext context = nullptr;
  const CUresult initialised = cuInit(0);
  return initialised != CUDA_SUCCESS ? initialised : cuCtxCreate(&context, nullptr, 0, 0);
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

CUmemAllocationProp shareable() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return prop;
}

void map_with_access(CUdeviceptr& range, CUmemGenericAllocationHandle handle) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CU_OK(cuMemAddressReserve(&range, kPart, 0, 0, 0));
  CU_OK(cuMemMap(range, kPart, 0, handle, 0));
  CU_OK(cuMemSetAccess(range, kPart, &access, 1));
}

TEST(Sharing, given_an_exported_handle_then_another_process_maps_the_same_memory) {
  Channel channel;
  Signal written, done;
  Child exporter = Child::checking([&] {
    CU_OK(open_context());
    const CUmemAllocationProp prop = shareable();
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr range = 0;
    int fd = -1;
    CU_OK(cuMemCreate(&handle, kPart, &prop, 0));
    map_with_access(range, handle);
    CU_OK(cuMemsetD32(range, 123, 10));
    CU_OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    channel.send_fd(fd);
    close(fd);
    written.await();
    int value = 0;
    CU_OK(cuMemcpyDtoH(&value, range + 40, 4));
    EXPECT_EQ(value, 321);
    done.raise();
  });
  Child importer = Child::checking([&] {
    CU_OK(open_context());
    const int fd = channel.receive_fd();
    const size_t before = free_bytes();
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr range = 0;
    CU_OK(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t{fd}),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    EXPECT_EQ(free_bytes(), before);  // nothing new was allocated
    close(fd);
    CUmemAllocationProp prop{};
    CU_OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
    EXPECT_EQ(prop.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    EXPECT_EQ(prop.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    map_with_access(range, handle);
    int value = 0;
    CU_OK(cuMemcpyDtoH(&value, range + 36, 4));
    EXPECT_EQ(value, 123);
    CU_OK(cuMemsetD32(range + 40, 321, 1));
    CU_OK(cuCtxSynchronize());
    written.raise();
    done.await();
  });
  EXPECT_EQ(exporter.wait(), 0);
  EXPECT_EQ(importer.wait(), 0);
}

TEST(Sharing,
     given_the_exporter_is_killed_then_memory_lives_with_the_importer_and_comes_back_after) {
  Channel channel;
  Signal ready, killed;
  Child exporter([&] {
    const CUmemAllocationProp prop = shareable();
    CUmemGenericAllocationHandle handle = 0;
    int fd = -1;
    if (open_context() != CUDA_SUCCESS ||
        cuMemCreate(&handle, 512 * kPart, &prop, 0) != CUDA_SUCCESS ||
        cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) !=
            CUDA_SUCCESS)
      return 1;
    channel.send_fd(fd);
    close(fd);
    pause();
    return 2;
  });
  Child importer = Child::checking([&] {
    CU_OK(open_context());
    int fd = channel.receive_fd();
    const size_t with_exporter = free_bytes();
    ready.raise();
    killed.await();
    // Its context goes, the shared memory stays: the descriptor holds it.
    EXPECT_TRUE(wait_until([&] { return free_bytes() > with_exporter; }));
    const size_t held = free_bytes();
    CUmemGenericAllocationHandle handle = 0;
    CU_OK(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t{fd}),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    EXPECT_EQ(free_bytes(), held);
    close(fd);
    CUdeviceptr range = 0;
    map_with_access(range, handle);
    CU_OK(cuMemRelease(handle));
    CU_OK(cuMemsetD32(range, 1, 100));
    EXPECT_EQ(free_bytes(), held);
    CU_OK(cuMemUnmap(range, kPart));
    EXPECT_TRUE(wait_until([&] { return free_bytes() == held + 512 * kPart; }));
  });
  ready.await();
  kill(exporter.pid(), SIGKILL);
  EXPECT_EQ(exporter.wait(), -SIGKILL);
  killed.raise();
  EXPECT_EQ(importer.wait(), 0);
}

void export_memory(const Channel& channel, Signal& checked) {
  CU_OK(open_context());
  CUdeviceptr data = 0;
  CUipcMemHandle handle{}, again{};
  CU_OK(cuMemAlloc(&data, 4096));
  CU_OK(cuMemsetD32(data, 55, 1024));
  CU_OK(cuCtxSynchronize());
  CU_OK(cuIpcGetMemHandle(&handle, data));
  CU_OK(cuIpcGetMemHandle(&again, data));
  EXPECT_EQ(memcmp(&handle, &again, sizeof handle), 0);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(nullptr, data));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&again, data + 8192));
  CUdeviceptr own = 0;
  CU_IS(CUDA_ERROR_INVALID_CONTEXT,
        cuIpcOpenMemHandle(&own, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CUdeviceptr other = 0;
  CUipcMemHandle stale{};
  CU_OK(cuMemAlloc(&other, 4096));
  CU_OK(cuIpcGetMemHandle(&stale, other));
  CU_OK(cuMemFree(other));
  channel.send(handle);
  channel.send(stale);
  checked.await();
  int value = 0;
  CU_OK(cuMemcpyDtoH(&value, data + 8, 4));
  EXPECT_EQ(value, 66);
  checked.raise();
}

void import_memory(const Channel& channel, Signal& checked) {
  CU_OK(open_context());
  const auto handle = channel.receive<CUipcMemHandle>();
  const auto stale = channel.receive<CUipcMemHandle>();
  CUdeviceptr first = 0, second = 0;
  const size_t before = free_bytes();
  CU_IS(CUDA_ERROR_INVALID_HANDLE,
        cuIpcOpenMemHandle(&first, stale, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CU_IS(CUDA_ERROR_INVALID_HANDLE,
        cuIpcOpenMemHandle(&first, CUipcMemHandle{}, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&first, handle, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuIpcOpenMemHandle(nullptr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CU_OK(cuIpcOpenMemHandle(&first, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CU_OK(cuIpcOpenMemHandle(&second, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_EQ(first, second);
  EXPECT_EQ(free_bytes(), before);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  CU_OK(cuMemGetAddressRange(&base, &bytes, first + 100));
  EXPECT_EQ(base, first);
  EXPECT_EQ(bytes, 4096U);
  int value = 0;
  CU_OK(cuMemcpyDtoH(&value, first + 4, 4));
  EXPECT_EQ(value, 55);
  CU_OK(cuMemsetD32(first + 8, 66, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(first));
  CU_OK(cuIpcCloseMemHandle(first));
  CU_OK(cuMemcpyDtoH(&value, first + 4, 4));  // one reference is left
  CU_OK(cuIpcCloseMemHandle(first));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&value, first + 4, 4));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(first));
  checked.raise();
}

TEST(Sharing, given_an_ipc_handle_then_memory_is_shared_at_one_address_until_the_last_close) {
  Channel channel;
  Signal checked;
  Child exporter = Child::checking([&] { export_memory(channel, checked); });
  Child importer = Child::checking([&] { import_memory(channel, checked); });
  EXPECT_EQ(importer.wait(), 0);
  EXPECT_EQ(exporter.wait(), 0);
}

void record_event(const Channel& channel, Signal& recorded, Signal& done) {
  CU_OK(open_context());
  CUevent event = nullptr, timed = nullptr;
  CUipcEventHandle handle{};
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&timed, CU_EVENT_INTERPROCESS));
  CU_OK(cuEventCreate(&timed, CU_EVENT_DISABLE_TIMING));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle(&handle, timed));
  CU_OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  CU_OK(cuIpcGetEventHandle(&handle, event));
  CU_OK(cuEventQuery(event));  // never recorded
  CUdeviceptr data = 0;
  CUipcMemHandle memory{};
  CU_OK(cuMemAlloc(&data, 4));
  CU_OK(cuMemsetD32(data, 0, 1));
  CU_OK(cuIpcGetMemHandle(&memory, data));
  void* word = nullptr;
  CU_OK(cuMemHostAlloc(&word, 8, 0));
  *static_cast<volatile uint32_t*>(word) = 0;
  CUstream stream = nullptr;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_OK(
      cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_OK(cuMemsetD32Async(data, 99, 1, stream));
  CU_OK(cuEventRecord(event, stream));
  CU_IS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  channel.send(handle);
  channel.send(memory);
  recorded.await();
  *static_cast<volatile uint32_t*>(word) = 1;
  CU_OK(cuEventSynchronize(event));
  done.await();
}

void wait_for_event(const Channel& channel, Signal& recorded, Signal& done) {
  CU_OK(open_context());
  const auto handle = channel.receive<CUipcEventHandle>();
  const auto memory = channel.receive<CUipcMemHandle>();
  CUevent event = nullptr;
  CUdeviceptr data = 0;
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuIpcOpenEventHandle(&event, CUipcEventHandle{}));
  CU_OK(cuIpcOpenEventHandle(&event, handle));
  CU_OK(cuIpcOpenMemHandle(&data, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CU_IS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  CUstream stream = nullptr;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_OK(cuStreamWaitEvent(stream, event, 0));
  int value = -1;
  void* pinned = nullptr;
  CU_OK(cuMemHostAlloc(&pinned, 4, 0));
  CU_OK(cuMemcpyDtoHAsync(pinned, data, 4, stream));
  CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
  recorded.raise();
  CU_OK(cuStreamSynchronize(stream));
  memcpy(&value, pinned, 4);
  EXPECT_EQ(value, 99);
  CU_OK(cuEventQuery(event));
  float ms = 0;
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, event, event));
  CU_OK(cuEventDestroy(event));
  done.raise();
}

TEST(Sharing, given_an_interprocess_event_then_one_process_waits_for_the_work_of_another) {
  Channel channel;
  Signal recorded, done;
  Child recorder = Child::checking([&] { record_event(channel, recorded, done); });
  Child waiter = Child::checking([&] { wait_for_event(channel, recorded, done); });
  EXPECT_EQ(waiter.wait(), 0);
  EXPECT_EQ(recorder.wait(), 0);
}

TEST(Sharing, given_the_recorder_is_killed_then_waiters_of_its_event_go_on) {
  Channel channel;
  Signal waiting;
  Child recorder([&] {
    CUevent event = nullptr;
    CUipcEventHandle handle{};
    void* word = nullptr;
    if (open_context() != CUDA_SUCCESS ||
        cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
        cuIpcGetEventHandle(&handle, event) != CUDA_SUCCESS ||
        cuMemHostAlloc(&word, 8, 0) != CUDA_SUCCESS ||
        cuStreamWaitValue32(nullptr, reinterpret_cast<CUdeviceptr>(word), 1,
                            CU_STREAM_WAIT_VALUE_EQ) != CUDA_SUCCESS ||
        cuEventRecord(event, nullptr) != CUDA_SUCCESS)
      return 1;
    channel.send(handle);
    pause();
    return 2;
  });
  Child waiter = Child::checking([&] {
    CU_OK(open_context());
    CUevent event = nullptr;
    CU_OK(cuIpcOpenEventHandle(&event, channel.receive<CUipcEventHandle>()));
    CU_OK(cuStreamWaitEvent(nullptr, event, 0));
    CU_IS(CUDA_ERROR_NOT_READY, cuStreamQuery(nullptr));
    waiting.raise();
    CU_OK(cuStreamSynchronize(nullptr));
    CU_OK(cuEventSynchronize(event));
  });
  waiting.await();
  kill(recorder.pid(), SIGKILL);
  EXPECT_EQ(recorder.wait(), -SIGKILL);
  EXPECT_EQ(waiter.wait(), 0);
}

TEST(Sharing, given_an_exported_pool_then_its_pointers_can_be_imported) {
  Channel channel;
  Signal imported, freed;
  Child exporter = Child::checking([&] {
    CU_OK(open_context());
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    int fd = -1;
    CUdeviceptr data = 0;
    CUmemPoolPtrExportData pointer{};
    CU_OK(cuMemPoolCreate(&pool, &props));
    CU_OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CU_OK(cuMemAllocFromPoolAsync(&data, 4096, pool, nullptr));
    CU_OK(cuMemsetD32Async(data, 31, 1024, nullptr));
    CU_OK(cuStreamSynchronize(nullptr));
    CU_OK(cuMemPoolExportPointer(&pointer, data));
    channel.send_fd(fd);
    channel.send(pointer);
    imported.await();
    int value = 0;
    CU_OK(cuMemcpyDtoH(&value, data, 4));
    EXPECT_EQ(value, 32);
    CU_OK(cuMemFree(data));
    freed.raise();
  });
  Child importer = Child::checking([&] {
    CU_OK(open_context());
    const int fd = channel.receive_fd();
    auto pointer = channel.receive<CUmemPoolPtrExportData>();
    CUmemoryPool pool = nullptr;
    CUdeviceptr data = 0;
    CU_IS(CUDA_ERROR_INVALID_VALUE,
          cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(intptr_t{0}),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CU_OK(cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(intptr_t{fd}),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&data, 100, pool, nullptr));
    CU_IS(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, pool));
    CU_OK(cuMemPoolImportPointer(&data, pool, &pointer));
    int value = 0;
    CU_OK(cuMemcpyDtoH(&value, data + 4, 4));
    EXPECT_EQ(value, 31);
    CU_OK(cuMemsetD32(data, 32, 1));
    CU_OK(cuMemFree(data));
    imported.raise();
    freed.await();
    CU_OK(cuMemPoolDestroy(pool));
  });
  EXPECT_EQ(importer.wait(), 0);
  EXPECT_EQ(exporter.wait(), 0);
}

TEST(Sharing, given_oom_at_the_third_allocation_then_only_that_one_fails) {
  Child child = Child::checking([] {
    setenv("SIMGPU_OOM_AT", "3", 1);
    CU_OK(open_context());
    CUdeviceptr data = 0;
    CU_OK(cuMemAlloc(&data, 100));
    CU_OK(cuMemAllocManaged(&data, 100, CU_MEM_ATTACH_GLOBAL));
    CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&data, 100, nullptr));
    CU_OK(cuMemAlloc(&data, 100));
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Sharing, given_hidden_charges_then_contexts_and_modules_take_what_was_asked_for) {
  Child child = Child::checking([] {
    setenv("SIMGPU_CONTEXT_MEM", "1000000000", 1);
    setenv("SIMGPU_MODULE_MEM", "50000384", 1);
    CU_OK(open_context());
    const size_t one = free_bytes();
    CUcontext second = nullptr;
    CUmodule module = nullptr;
    CU_OK(cuCtxCreate(&second, nullptr, 0, 0));
    EXPECT_EQ(free_bytes(), one - 1000000000);
    const size_t before = free_bytes();
    CU_OK(cuModuleLoadData(&module, kTestPtx));
    EXPECT_EQ(free_bytes(), before - 50000384 - 512);  // and its variable
    CU_OK(cuModuleUnload(module));
    EXPECT_EQ(free_bytes(), before);
    CU_OK(cuCtxDestroy(second));
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Sharing, given_a_descriptor_of_something_else_then_it_is_refused) {
  Child child = Child::checking([] {
    CU_OK(open_context());
    CUmemGenericAllocationHandle handle = 0;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    for (const int fd : {ends[0], ends[1], 0, -1, 9999})
      EXPECT_NE(CUDA_SUCCESS,
                cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t{fd}),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
          << fd;
    size_t free = 0, total = 0;
    CU_OK(cuMemGetInfo(&free, &total));  // the server is still there
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace gacer::simdriver
