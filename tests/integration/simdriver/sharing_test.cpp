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

// Descriptors and plain values from one child to the other.
struct Channel {
  int ends[2];
  Channel() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0); }

  void send_fd(int fd) const {
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    EXPECT_EQ(sendmsg(ends[0], &message, 0), 1);
  }
  int receive_fd() const {
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    EXPECT_EQ(recvmsg(ends[1], &message, 0), 1);
    int fd = -1;
    if (CMSG_FIRSTHDR(&message) != nullptr)
      memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
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
