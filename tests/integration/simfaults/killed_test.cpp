// SPDX-License-Identifier: Apache-2.0
// Processes that are killed at any moment of what a program does: the server stays sound, the
// survivors' results are right, all memory comes back.
#include <signal.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "tests/integration/simdriver/child.h"
#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

constexpr unsigned kWords = 4096;

struct Program {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction add_one = nullptr, spin = nullptr;
  CUdeviceptr data = 0;
  CUstream stream = nullptr;

  bool open() {
    return cuInit(0) == CUDA_SUCCESS && cuCtxCreate(&context, nullptr, 0, 0) == CUDA_SUCCESS &&
           cuModuleLoadData(&module, kTestPtx) == CUDA_SUCCESS &&
           cuModuleGetFunction(&add_one, module, "add_one") == CUDA_SUCCESS &&
           cuModuleGetFunction(&spin, module, "spin") == CUDA_SUCCESS &&
           cuMemAlloc(&data, kWords * 4) == CUDA_SUCCESS &&
           cuMemsetD32(data, 0, kWords) == CUDA_SUCCESS &&
           cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
  }
  CUresult add(CUstream on) {
    unsigned n = kWords;
    void* params[] = {&data, &n};
    return cuLaunchKernel(add_one, kWords / 64, 1, 1, 64, 1, 1, 0, on, params, nullptr);
  }
};

void kernels(Program& program) {
  unsigned turns = 20'000;
  void* params[] = {&turns};
  cuLaunchKernel(program.spin, 8, 1, 1, 128, 1, 1, 0, program.stream, params, nullptr);
  program.add(program.stream);
  cuStreamSynchronize(program.stream);
}

void copies(Program& program) {
  std::vector<int> host(kWords);
  cuMemcpyHtoDAsync(program.data, host.data(), kWords * 4, program.stream);
  cuMemcpyDtoHAsync(host.data(), program.data, kWords * 4, program.stream);
  cuStreamSynchronize(program.stream);
}

void host_functions(Program& program) {
  for (int i = 0; i < 8; ++i)
    cuLaunchHostFunc(
        program.stream, [](void*) { std::this_thread::yield(); }, nullptr);
  cuStreamSynchronize(program.stream);
}

void mapped_memory(Program& program) {
  void* pinned = nullptr;
  CUdeviceptr managed = 0;
  if (cuMemHostAlloc(&pinned, 1 << 20, CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS) return;
  cuMemAllocManaged(&managed, 1 << 20, CU_MEM_ATTACH_GLOBAL);
  cuMemcpyAsync(managed, reinterpret_cast<CUdeviceptr>(pinned), 1 << 20, program.stream);
  cuStreamSynchronize(program.stream);
  cuMemFreeHost(pinned);
  cuMemFree(managed);
}

void graphs(Program& program) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  cuStreamBeginCapture(program.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  for (int i = 0; i < 10; ++i) program.add(program.stream);
  cuStreamEndCapture(program.stream, &graph);
  if (cuGraphInstantiate(&exec, graph, 0) != CUDA_SUCCESS) return;
  cuGraphLaunch(exec, program.stream);
  cuStreamSynchronize(program.stream);
  cuGraphExecDestroy(exec);
  cuGraphDestroy(graph);
}

void pools_and_exports(Program& program) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool pool = nullptr;
  CUdeviceptr piece = 0;
  int fd = -1;
  if (cuMemPoolCreate(&pool, &props) != CUDA_SUCCESS) return;
  cuMemAllocFromPoolAsync(&piece, 1 << 20, pool, program.stream);
  cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  cuStreamSynchronize(program.stream);
  cuMemFreeAsync(piece, program.stream);
  CUipcMemHandle handle;
  cuIpcGetMemHandle(&handle, program.data);
  cuMemPoolDestroy(pool);
  if (fd >= 0) close(fd);
}

void everything(unsigned seed) {
  std::mt19937 random(seed);
  Program program;
  if (!program.open()) return;
  void (*const phases[])(Program&) = {kernels,       copies, host_functions,
                                      mapped_memory, graphs, pools_and_exports};
  while (true) phases[random() % std::size(phases)](program);
}

uint64_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(CUDA_SUCCESS, cuMemGetInfo(&free, &total));
  return free;
}

// A child that has the device all the time, says when killing may begin and is told when it is
// over; then it looks whether all memory has come back, having computed meanwhile.
Child survivor(Signal& ready, Signal& over) {
  return Child::checking([&] {
    Program program;
    ASSERT_TRUE(program.open());
    const uint64_t before = free_bytes();
    ready.raise();
    for (int i = 0; i < 50; ++i) {
      CU_OK(program.add(nullptr));
      CU_OK(cuCtxSynchronize());
    }
    over.await();
    EXPECT_TRUE(wait_until([&] { return free_bytes() == before; }));
    std::vector<int> result(kWords);
    CU_OK(cuMemcpyDtoH(result.data(), program.data, kWords * 4));
    for (const int value : result) ASSERT_EQ(value, 50);
  });
}

TEST(Killed, AtAnyMomentTheServerStaysSoundAndAllMemoryComesBack) {
  Signal ready, over;
  Child witness = survivor(ready, over);
  ready.await();
  std::mt19937 random(2024);
  for (int round = 0; round < 12; ++round) {
    std::vector<Child> victims;
    for (int i = 0; i < 3; ++i) {
      const auto seed = static_cast<unsigned>(random());
      victims.emplace_back([seed] {
        everything(seed);
        return 0;
      });
    }
    for (Child& victim : victims) {
      // From before the first message to some tens of operations later.
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
      kill(victim.pid(), SIGKILL);
    }
    for (Child& victim : victims) EXPECT_EQ(victim.wait(), -SIGKILL);
  }
  over.raise();
  EXPECT_EQ(witness.wait(), 0);
}

}  // namespace
}  // namespace gacer::simdriver
