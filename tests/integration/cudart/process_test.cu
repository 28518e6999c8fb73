// SPDX-License-Identifier: Apache-2.0
// What concerns a whole process: errors that stay, reset, several devices, libraries that come and
// go, older programs, a profiler. Started with three devices.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "runtime/simdevice/tools_hooks.h"
#include "tests/integration/cudart/cuda_test.h"

namespace {

__device__ int where = 0;
__global__ void store(int* out, int value) {
  *out = value;
}
__global__ void store_where(int* out) {
  *out = where;
}

// Runs `body` in a process of its own, which started anew.
template <typename Body>
void in_new_process(const Body& body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&body] {
    body();
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

void fault() {
  store<<<1, 1>>>(reinterpret_cast<int*>(0x10), 1);
  EXPECT_EQ(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

TEST(Sticky, ErrorStaysUntilReset) {
  in_new_process([] {
    fault();
    void* memory = nullptr;
    EXPECT_EQ(cudaErrorIllegalAddress, cudaMalloc(&memory, 16));
    EXPECT_EQ(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT_EQ(cudaErrorIllegalAddress, cudaGetLastError()) << "not cleared by being read";
    EXPECT_EQ(cudaErrorIllegalAddress, cudaStreamQuery(nullptr));
  });
}

TEST(Reset, ContextIsMadeAnew) {
  in_new_process([] {
    int* memory = nullptr;
    const int value = 9;
    EXPECT_CUDA(cudaMalloc(&memory, 16));
    EXPECT_CUDA(cudaMemcpyToSymbol(where, &value, 4));
    EXPECT_CUDA(cudaDeviceReset());
    EXPECT_EQ(cudaErrorInvalidValue, cudaMemset(memory, 0, 16)) << "its memory went with it";
    (void)cudaGetLastError();
    DeviceBuffer<int> out(1);
    store_where<<<1, 1>>>(out.get());
    EXPECT_EQ(0, out.read()[0]) << "variables have their first value";
  });
}

TEST(Devices, EachThreadHasItsOwn) {
  int count = 0;
  ASSERT_CUDA(cudaGetDeviceCount(&count));
  ASSERT_EQ(3, count);
  ASSERT_CUDA(cudaSetDevice(1));
  int device = -1;
  std::thread([] {
    int theirs = -1;
    EXPECT_CUDA(cudaGetDevice(&theirs));
    EXPECT_EQ(0, theirs);
  }).join();
  ASSERT_CUDA(cudaGetDevice(&device));
  EXPECT_EQ(1, device);
  DeviceBuffer<int> out(1);
  const int value = 11;
  ASSERT_CUDA(cudaMemcpyToSymbol(where, &value, 4));
  store_where<<<1, 1>>>(out.get());
  EXPECT_EQ(11, out.read()[0]);
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, out.get()));
  EXPECT_EQ(1, attributes.device);
  ASSERT_CUDA(cudaSetDevice(2));
  DeviceBuffer<int> other(1);
  store_where<<<1, 1>>>(other.get());
  EXPECT_EQ(0, other.read()[0]) << "each device has its own variable";
  ASSERT_CUDA(cudaMemcpyPeer(other.get(), 2, out.get(), 1, 4));
  EXPECT_EQ(11, other.read()[0]);
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST(Devices, PeersAreEnabledOnce) {
  int possible = 0;
  ASSERT_CUDA(cudaDeviceCanAccessPeer(&possible, 0, 1));
  if (possible == 0) GTEST_SKIP() << "this device model has no peers";
  ASSERT_CUDA(cudaSetDevice(0));
  ASSERT_CUDA(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
  ASSERT_CUDA(cudaDeviceDisablePeerAccess(1));
  EXPECT_EQ(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
  (void)cudaGetLastError();
}

TEST(Library, IsRegisteredByDlopenAndForgottenByDlclose) {
  for (int round = 0; round < 2; ++round) {
    void* plugin = dlopen(std::getenv("CUDART_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(nullptr, plugin) << dlerror();
    const auto run = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_run"));
    const auto address = reinterpret_cast<const void* (*)()>(dlsym(plugin, "plugin_kernel"));
    ASSERT_NE(nullptr, run);
    EXPECT_EQ(42, run());
    const void* kernel = address();
    cudaFuncAttributes attributes;
    EXPECT_CUDA(cudaFuncGetAttributes(&attributes, kernel));
    ASSERT_EQ(0, dlclose(plugin));
    EXPECT_EQ(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, kernel));
    (void)cudaGetLastError();
  }
}

// The older form of a function is found under the older version.
TEST(Programs12, FindTheirOwnForm) {
  void* runtime = dlopen("libcudart.so.12", RTLD_NOW);
  ASSERT_NE(nullptr, runtime) << dlerror();
  const auto old = [&](const char* name) { return dlvsym(runtime, name, "libcudart.so.12"); };
  EXPECT_NE(nullptr, old("cudaMalloc"));
  int version = 0;
  ASSERT_CUDA(reinterpret_cast<cudaError_t (*)(int*)>(old("cudaRuntimeGetVersion"))(&version));
  EXPECT_EQ(12, version / 1000);
  struct Attributes12 {
    int type, device;
    void *device_pointer, *host_pointer;
    long beyond = 77;
  } attributes;
  DeviceBuffer<int> out(1);
  const auto get =
      reinterpret_cast<cudaError_t (*)(void*, const void*)>(old("cudaPointerGetAttributes"));
  ASSERT_NE(nullptr, get);
  ASSERT_CUDA(get(&attributes, out.get()));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(77, attributes.beyond) << "13's structure is longer";
  const auto prefetch = reinterpret_cast<cudaError_t (*)(const void*, size_t, int, cudaStream_t)>(
      old("cudaMemPrefetchAsync"));
  void* managed = nullptr;
  ASSERT_CUDA(cudaMallocManaged(&managed, 4096));
  EXPECT_CUDA(prefetch(managed, 4096, 0, nullptr));
  EXPECT_CUDA(prefetch(managed, 4096, cudaCpuDeviceId, nullptr));
  EXPECT_CUDA(cudaFree(managed));
  const auto properties =
      reinterpret_cast<cudaError_t (*)(void*, int)>(old("cudaGetDeviceProperties_v2"));
  struct {
    char name[256], rest[1032 - 256], beyond[8];
  } device{};
  ASSERT_CUDA(properties(&device, 0));
  EXPECT_NE(std::string(), std::string(device.name));
  EXPECT_EQ(0, device.beyond[0]);
}

struct Seen {
  int runtime = 0, driver = 0;
  bool same_correlation = true;
  uint32_t correlation = 0;
  std::string names, symbol;
};
Seen seen;

void on_call(gacer::simdevice::ToolsCall& call, bool enter) {
  using gacer::simdevice::ToolsDomain;
  if (call.domain == ToolsDomain::kRuntime) {
    if (enter) seen.correlation = call.correlation_id;
    if (call.symbol != nullptr) seen.symbol = call.symbol;
    if (!enter) {
      ++seen.runtime;
      seen.names +=
          std::string(call.function) + "=" + std::to_string(*static_cast<int*>(call.result)) + ";";
    }
    return;
  }
  ++seen.driver;
  seen.same_correlation = seen.same_correlation && call.correlation_id == seen.correlation;
}

TEST(Profiler, SeesRuntimeCallsAroundTheDriversCalls) {
  DeviceBuffer<int> out(1);
  store<<<1, 1>>>(out.get(), 1);  // its handle is asked for at the first launch only
  ASSERT_CUDA(cudaDeviceSynchronize());
  CUuuid id;
  for (int i = 0; i < 16; ++i) id.bytes[i] = static_cast<char>(gacer::simdevice::kToolsHooksId[i]);
  const void* table = nullptr;
  ASSERT_EQ(CUDA_SUCCESS, cuGetExportTable(&table, &id));
  auto* hooks = const_cast<gacer::simdevice::ToolsHooks*>(
      static_cast<const gacer::simdevice::ToolsHooks*>(table));
  hooks->on_call.store(on_call, std::memory_order_release);
  void* memory = nullptr;
  EXPECT_CUDA(cudaMalloc(&memory, 64));
  store<<<1, 1>>>(static_cast<int*>(memory), 1);
  EXPECT_CUDA(cudaFree(memory));
  hooks->on_call.store(nullptr, std::memory_order_release);
  EXPECT_EQ(
      "cudaMalloc=0;__cudaPushCallConfiguration=0;__cudaPopCallConfiguration=0;__cudaLaunchKernel="
      "0;"
      "cudaFree=0;",
      seen.names);
  EXPECT_NE(std::string::npos, seen.symbol.find("store")) << seen.symbol;
  EXPECT_GT(seen.driver, 0);
  EXPECT_TRUE(seen.same_correlation);
}

}  // namespace
