// SPDX-License-Identifier: Apache-2.0
// MPS as programs and administrators see it: the control program, its limits, the variables of
// clients.
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>

#include "runtime/simdevice/mps/mps_socket.h"
#include "tests/integration/simdriver/child.h"
#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGiB = 1ULL << 30;

std::string directory() {
  return getenv("CUDA_MPS_PIPE_DIRECTORY");
}

// One line to the daemon, its answer without the last newline.
std::string command(const std::string& line) {
  auto answer = simdevice::mps_command(directory(), line);
  if (!answer.ok()) return answer.error().message;
  std::string text = *answer;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

class MpsClients : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(std::system((std::string(MPS_CONTROL_PATH) + " -d").c_str()), 0);
  }
  // The server ends with its last client; its settings must not meet the next test.
  void TearDown() override {
    EXPECT_TRUE(wait_until([] { return command("get_server_list").empty(); }));
    command("quit");
    uint32_t percentage = 0;
    EXPECT_TRUE(wait_until([&] { return !simdevice::mps_is_on(directory(), percentage); }));
  }
};

// A child with a context that says so and stays until it is told to go on with `body`.
class Waiting {
 public:
  explicit Waiting(const std::function<void()>& body)
      : child_(Child::checking([&] {
          CUcontext context = nullptr;
          CU_OK(cuInit(0));
          CU_OK(cuCtxCreate(&context, nullptr, 0, 0));
          ready_.raise();
          go_.await();
          body();
        })) {
    ready_.await();
  }
  int finish() {
    go_.raise();
    return child_.wait();
  }
  std::string pid() const { return std::to_string(child_.pid()); }

 private:
  Signal ready_, go_;
  Child child_;
};

int in_child(const std::function<void()>& body) {
  return Child::checking(body).wait();
}

CUresult open_device() {
  CUcontext context = nullptr;
  const CUresult ready = cuInit(0);
  return ready != CUDA_SUCCESS ? ready : cuCtxCreate(&context, nullptr, 0, 0);
}

TEST_F(MpsClients, ServersAndClientsAreListedWhileTheyRun) {
  Waiting client([] {});
  EXPECT_TRUE(wait_until([&] { return !command("get_server_list").empty(); }));
  const std::string server = command("get_server_list");
  EXPECT_TRUE(wait_until([&] { return command("get_client_list " + server) == client.pid(); }));
  EXPECT_EQ(command("get_server_status " + server), "ACTIVE");
  EXPECT_THAT(command("get_device_client_list"), HasSubstr(client.pid()));
  EXPECT_THAT(command("ps"), HasSubstr("simfaults_test"));
  EXPECT_EQ(client.finish(), 0);
  EXPECT_TRUE(wait_until([&] {
    const std::string clients = command("get_client_list " + server);
    return clients.empty() || clients.find("not found") != std::string::npos;
  }));
}

TEST_F(MpsClients, TheDefaultPercentageCapsTheNextServersClients) {
  EXPECT_EQ(command("set_default_active_thread_percentage 25"), "25.0");
  EXPECT_EQ(in_child([] {
              CU_OK(open_device());
              const std::string server = command("get_server_list");
              EXPECT_EQ(command("get_active_thread_percentage " + server), "25.0");
              command("set_default_active_thread_percentage 50");
              EXPECT_EQ(command("get_active_thread_percentage " + server), "25.0");
              int enabled = 0;
              CU_OK(cuDeviceGetAttribute(&enabled, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0));
              EXPECT_EQ(enabled, 1);
            }),
            0);
}

TEST_F(MpsClients, AClientsMemoryLimitIsOutOfMemoryBeyondIt) {
  EXPECT_EQ(in_child([] {
              setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1G", 1);
              CU_OK(open_device());
              size_t free = 0, total = 0;
              CU_OK(cuMemGetInfo(&free, &total));
              EXPECT_EQ(total, kGiB);
              EXPECT_LT(free, kGiB);  // the context counts
              CUdeviceptr data = 0;
              CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&data, kGiB));
              CU_OK(cuMemAlloc(&data, free / 2));
              CU_OK(cuMemFree(data));
            }),
            0);
}

TEST_F(MpsClients, AServersMemoryLimitHoldsForAllAndMayOnlyBeLowered) {
  EXPECT_EQ(command("set_default_device_pinned_mem_limit 0 2G"), "2048M");
  EXPECT_EQ(in_child([] {
              setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=8G", 1);
              CU_OK(open_device());
              size_t free = 0, total = 0;
              CU_OK(cuMemGetInfo(&free, &total));
              EXPECT_EQ(total, 2 * kGiB);
            }),
            0);
}

TEST_F(MpsClients, ATerminatedClientIsToldAndTheOthersGoOn) {
  Waiting ended([] {
    CUdeviceptr data = 0;
    EXPECT_TRUE(wait_until([&] { return cuMemAlloc(&data, 512) != CUDA_SUCCESS; }));
    CU_IS(CUDA_ERROR_MPS_CLIENT_TERMINATED, cuMemAlloc(&data, 512));
  });
  Waiting goes_on([] {
    CUdeviceptr data = 0;
    CU_OK(cuMemAlloc(&data, 512));
  });
  const std::string server = command("get_server_list");
  EXPECT_TRUE(wait_until(
      [&] { return command("get_client_list " + server).find(ended.pid()) != std::string::npos; }));
  EXPECT_EQ(command("terminate_client " + server + " " + ended.pid()), "");
  EXPECT_EQ(ended.finish(), 0);
  EXPECT_EQ(goes_on.finish(), 0);
}

TEST_F(MpsClients, AFaultIsReportedToAllClientsAndInTheServersStatus) {
  Waiting innocent([] {
    CUdeviceptr data = 0;
    EXPECT_TRUE(wait_until([&] { return cuMemAlloc(&data, 512) != CUDA_SUCCESS; }));
    CU_IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&data, 512));
    const std::string server = command("get_server_list");
    EXPECT_TRUE(wait_until([&] { return command("get_server_status " + server) == "FAULT"; }));
  });
  EXPECT_EQ(in_child([] {
              setenv("SIMGPU_FAULT", "illegal", 1);
              CU_OK(open_device());
              CUmodule module = nullptr;
              CUfunction spin = nullptr;
              CU_OK(cuModuleLoadData(&module, kTestPtx));
              CU_OK(cuModuleGetFunction(&spin, module, "spin"));
              unsigned turns = 1;
              void* params[] = {&turns};
              CU_OK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
              CU_IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
            }),
            0);
  EXPECT_EQ(in_child([] { CU_IS(CUDA_ERROR_MPS_SERVER_NOT_READY, open_device()); }), 0);
  EXPECT_EQ(innocent.finish(), 0);
}

// The child holds a copy of the driver's socket (no atfork handler runs), so that the socket does
// not hang up when this process ends: the device meets the dead process's operations first.
void keep_descriptors_in_a_child(Signal& over) {
  if (syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) != 0) return;
  over.await();
  _exit(0);
}

// Behind a wait for memory of the process itself: runs when that is gone.
void queue_a_copy_behind_a_wait() {
  constexpr size_t kBytes = 1 << 16;
  void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CUdeviceptr data = 0;
  CUstream stream = nullptr;
  CU_OK(cuMemHostRegister(pages, kBytes, CU_MEMHOSTREGISTER_DEVICEMAP));
  CU_OK(cuMemAlloc(&data, kBytes));
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_OK(cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(pages), 1,
                            CU_STREAM_WAIT_VALUE_EQ));
  CU_OK(cuMemcpyHtoDAsync(data, pages, kBytes, stream));
}

TEST_F(MpsClients, AClientThatIsKilledWithWorkQueuedIsNoFault) {
  Signal queued, over;
  Waiting neighbour([] {
    CUdeviceptr data = 0;
    CU_OK(cuMemAlloc(&data, 512));
    CU_OK(cuMemsetD32(data, 7, 128));
    CU_OK(cuCtxSynchronize());
    EXPECT_EQ(command("get_server_status " + command("get_server_list")), "ACTIVE");
  });
  Child victim = Child::checking([&] {
    CU_OK(open_device());
    queue_a_copy_behind_a_wait();
    keep_descriptors_in_a_child(over);
    queued.raise();
    pause();
  });
  queued.await();
  kill(victim.pid(), SIGKILL);
  EXPECT_EQ(victim.wait(), -SIGKILL);
  // Time for the device to look at the wait again; too little would only make the test weaker.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(neighbour.finish(), 0);
  EXPECT_EQ(in_child([] { CU_OK(open_device()); }), 0);
  over.raise();
}

TEST_F(MpsClients, TheDaemonsPidLiesInThePipeDirectory) {
  int pid = 0;
  EXPECT_TRUE(wait_until([&] {
    std::ifstream in(directory() + "/nvidia-cuda-mps-control.pid");
    in >> pid;
    return pid > 0;
  }));
  EXPECT_EQ(kill(pid, 0), 0);
}

}  // namespace
}  // namespace gacer::simdriver
