// SPDX-License-Identifier: Apache-2.0
// Several processes on one device, and processes that end badly. Each case runs in children,
// because a sticky error or a lost server stays for the life of a process.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/integration/simdriver/child.h"
#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

// Everything a small program does; the number of the first step that failed, 0 for none.
int vector_work(int rounds) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction f = nullptr;
  CUdeviceptr data = 0;
  if (cuInit(0) != CUDA_SUCCESS) return 1;
  if (cuCtxCreate(&context, nullptr, 0, 0) != CUDA_SUCCESS) return 2;
  if (cuModuleLoadData(&module, kTestPtx) != CUDA_SUCCESS) return 3;
  if (cuModuleGetFunction(&f, module, "add_one") != CUDA_SUCCESS) return 4;
  unsigned n = 1000;
  if (cuMemAlloc(&data, n * 4) != CUDA_SUCCESS || cuMemsetD32(data, 0, n) != CUDA_SUCCESS) return 5;
  void* params[] = {&data, &n};
  for (int i = 0; i < rounds; ++i)
    if (cuLaunchKernel(f, 16, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr) != CUDA_SUCCESS)
      return 6;
  std::vector<int> result(n);
  if (cuMemcpyDtoH(result.data(), data, n * 4) != CUDA_SUCCESS) return 7;
  for (const int value : result)
    if (value != rounds) return 8;
  return 0;
}

pid_t server_pid() {
  const std::string path = std::string(getenv("SIMGPU_DIR")) + "/device.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size());
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool there = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                     getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  close(fd);
  return there ? peer.pid : 0;
}

TEST(Processes, ManyStartingAtOnceShareOneServer) {
  std::vector<Child> children;
  for (int i = 0; i < 4; ++i) children.emplace_back([] { return vector_work(20); });
  for (Child& child : children) EXPECT_EQ(child.wait(), 0);
}

TEST(Processes, OneIsKilledAndTheOtherGoesOn) {
  Signal started, killed;
  Child victim([&] {
    CUcontext context = nullptr;
    CUdeviceptr data = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate(&context, nullptr, 0, 0) != CUDA_SUCCESS) return 1;
    if (cuMemAlloc(&data, 1 << 30) != CUDA_SUCCESS) return 2;
    started.raise();
    pause();
    return 3;
  });
  started.await();
  Child survivor([&] {
    CUcontext context = nullptr;
    size_t before = 0, after = 0, total = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate(&context, nullptr, 0, 0) != CUDA_SUCCESS) return 1;
    if (cuMemGetInfo(&before, &total) != CUDA_SUCCESS) return 2;
    started.raise();
    killed.await();
    const bool freed = wait_until([&] {
      return cuMemGetInfo(&after, &total) != CUDA_SUCCESS || after >= before + (size_t{1} << 30);
    });
    return freed ? vector_work(20) : 3;
  });
  started.await();
  kill(victim.pid(), SIGKILL);
  EXPECT_EQ(victim.wait(), -SIGKILL);
  killed.raise();
  EXPECT_EQ(survivor.wait(), 0);
}

TEST(Processes, AnIllegalAddressIsStickyForItsProcessOnly) {
  Child faulty([] {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction f = nullptr;
    CUdeviceptr data = 0;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate(&context, nullptr, 0, 0) != CUDA_SUCCESS) return 1;
    if (cuModuleLoadData(&module, kTestPtx) != CUDA_SUCCESS) return 2;
    if (cuModuleGetFunction(&f, module, "write_beyond") != CUDA_SUCCESS ||
        cuMemAlloc(&data, 64) != CUDA_SUCCESS)
      return 3;
    void* params[] = {&data};
    if (cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr) != CUDA_SUCCESS) return 4;
    if (cuCtxSynchronize() != CUDA_ERROR_ILLEGAL_ADDRESS) return 5;
    if (cuMemFree(data) != CUDA_ERROR_ILLEGAL_ADDRESS) return 6;
    if (cuStreamQuery(nullptr) != CUDA_ERROR_ILLEGAL_ADDRESS) return 7;
    return 0;
  });
  Child healthy([] { return vector_work(200); });
  EXPECT_EQ(faulty.wait(), 0);
  EXPECT_EQ(healthy.wait(), 0);
}

TEST(Processes, AForkChildOfAProgramThatUsesTheDeviceIsNotInitialised) {
  Child parent([] {
    if (const int failed = vector_work(1); failed != 0) return failed;
    Child child([] {
      CUdeviceptr data = 0;
      int count = 0;
      if (cuMemAlloc(&data, 4) != CUDA_ERROR_NOT_INITIALIZED) return 21;
      if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED) return 22;
      return cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 23;
    });
    if (const int failed = child.wait(); failed != 0) return failed;
    return cuCtxSynchronize() == CUDA_SUCCESS ? 0 : 24;  // the parent is none the worse
  });
  EXPECT_EQ(parent.wait(), 0);
}

// Exit handlers run after the main thread's storage is gone, as static destructors do.
TEST(Processes, CallsAtExitAnswerInsteadOfCrashing) {
  Child child([] {
    std::atexit([] { _exit(cuMemFree(1) == CUDA_SUCCESS ? 21 : 20); });
    if (const int failed = vector_work(1); failed != 0) return failed;
    std::exit(22);
  });
  EXPECT_EQ(child.wait(), 20);
}

TEST(Processes, CallsBeforeInitAreRefused) {
  Child child([] {
    int count = 0;
    CUcontext context = nullptr;
    void* address = nullptr;
    if (cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED) return 1;
    if (cuCtxCreate(&context, nullptr, 0, 0) != CUDA_ERROR_NOT_INITIALIZED) return 2;
    if (cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED) return 3;
    if (cuDriverGetVersion(&count) != CUDA_SUCCESS || count != 13000) return 4;
    if (cuGetProcAddress("cuInit", &address, 12000, 0, nullptr) != CUDA_SUCCESS) return 5;
    return cuInit(1) == CUDA_ERROR_INVALID_VALUE ? 0 : 6;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Processes, NoVisibleDeviceIsNoDevice) {
  Child child([] {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    return cuInit(0) == CUDA_ERROR_NO_DEVICE ? 0 : 1;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Processes, AnUnknownDeviceOrServerIsOneClearFailure) {
  Child wrong_server([] {
    setenv("SIMGPU_DIR", (std::string(getenv("SIMGPU_DIR")) + "/none").c_str(), 1);
    setenv("SIMGPU_SERVER", "/nonexistent/simgpu-server", 1);
    return cuInit(0) == CUDA_ERROR_NO_DEVICE ? 0 : 1;
  });
  EXPECT_EQ(wrong_server.wait(), 0);
}

TEST(Processes, TheDeathOfTheServerEndsEveryWait) {
  Signal waiting;
  Child client([&] {
    CUcontext context = nullptr;
    void* host = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate(&context, nullptr, 0, 0) != CUDA_SUCCESS) return 1;
    if (cuMemHostAlloc(&host, 64, 0) != CUDA_SUCCESS) return 2;
    // Never becomes 1.
    if (cuStreamWaitValue32(nullptr, reinterpret_cast<CUdeviceptr>(host), 1,
                            CU_STREAM_WAIT_VALUE_EQ) != CUDA_SUCCESS)
      return 3;
    waiting.raise();
    if (cuCtxSynchronize() != CUDA_ERROR_DEVICE_UNAVAILABLE) return 4;
    CUdeviceptr data = 0;
    return cuMemAlloc(&data, 4) == CUDA_ERROR_DEVICE_UNAVAILABLE ? 0 : 5;
  });
  waiting.await();
  const pid_t server = server_pid();
  ASSERT_GT(server, 0);
  kill(server, SIGKILL);
  EXPECT_EQ(client.wait(), 0);
  // The next program gets a new one.
  Child next([] { return vector_work(3); });
  EXPECT_EQ(next.wait(), 0);
}

}  // namespace
}  // namespace gacer::simdriver
