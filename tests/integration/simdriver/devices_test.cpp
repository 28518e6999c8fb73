// SPDX-License-Identifier: Apache-2.0
// Several devices. Each case runs in a child, because a server has one number of devices and a
// process reads CUDA_VISIBLE_DEVICES once.
#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "tests/integration/simdriver/child.h"
#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

// A server of its own with `count` devices; visible: CUDA_VISIBLE_DEVICES, nullptr: not set.
int with_devices(int count, const char* visible, const std::function<void()>& body) {
  return Child::checking([&] {
           const std::string number = std::to_string(count);
           const std::string directory = std::string(getenv("SIMGPU_DIR")) + "/devices" + number;
           setenv("SIMGPU_DIR", directory.c_str(), 1);
           setenv("SIMGPU_DEVICES", number.c_str(), 1);
           if (visible != nullptr) setenv("CUDA_VISIBLE_DEVICES", visible, 1);
           body();
         })
      .wait();
}

std::string bus_id(CUdevice device) {
  char text[32] = {};
  EXPECT_EQ(cuDeviceGetPCIBusId(text, sizeof text, device), CUDA_SUCCESS);
  return text;
}

std::string uuid_of(CUdevice device) {
  CUuuid uuid{};
  EXPECT_EQ(cuDeviceGetUuid(&uuid, device), CUDA_SUCCESS);
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    char digits[8];
    snprintf(digits, sizeof digits, "%s%02x",
             i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-" : "",
             static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
  }
  return text;
}

int count_of() {
  int count = -1;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  return count;
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

TEST(Devices, given_three_devices_then_each_has_an_identity_of_its_own) {
  EXPECT_EQ(0, with_devices(3, nullptr, [] {
              CU_OK(cuInit(0));
              EXPECT_EQ(count_of(), 3);
              std::set<std::string> names;
              for (int i = 0; i < 3; ++i) {
                CUdevice device = -1, found = -1;
                CU_OK(cuDeviceGet(&device, i));
                EXPECT_EQ(device, i);
                names.insert(uuid_of(device));
                names.insert(bus_id(device));
                CU_OK(cuDeviceGetByPCIBusId(&found, bus_id(device).c_str()));
                EXPECT_EQ(found, i);
                int bus = 0;
                CU_OK(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
                EXPECT_EQ(bus, 1 + i);
              }
              EXPECT_EQ(names.size(), 6U);
              CUdevice device = -1;
              size_t bytes = 0;
              CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 3));
              CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
              CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceTotalMem(&bytes, 3));
              CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:04:00.0"));
              CU_IS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId(&device, "nonsense"));
              CU_IS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId(nullptr, "0000:01:00.0"));
            }));
}

TEST(Devices, given_a_list_of_indices_then_ordinals_follow_it_and_identities_stay) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_EQ(0, with_devices(3, nullptr, [&] {
              CU_OK(cuInit(0));
              const std::string all = uuid_of(0) + uuid_of(2);
              ASSERT_EQ(write(pipe_ends[1], all.data(), all.size()),
                        static_cast<ssize_t>(all.size()));
            }));
  char text[80];
  ASSERT_EQ(read(pipe_ends[0], text, sizeof text), 80);
  const std::string first(text, 40), third(text + 40, 40);
  EXPECT_EQ(0, with_devices(3, "2,0", [&] {
              CU_OK(cuInit(0));
              EXPECT_EQ(count_of(), 2);
              EXPECT_EQ(uuid_of(0), third);
              EXPECT_EQ(uuid_of(1), first);
              EXPECT_EQ(bus_id(0), "0000:03:00.0");
              CUdevice device = -1;
              CU_OK(cuDeviceGetByPCIBusId(&device, "03:00.0"));
              EXPECT_EQ(device, 0);
              CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "02:00.0"));
            }));
  const std::string by_uuid = third.substr(0, 12) + "," + first;
  EXPECT_EQ(0, with_devices(3, by_uuid.c_str(), [&] {
              CU_OK(cuInit(0));
              EXPECT_EQ(count_of(), 2);
              EXPECT_EQ(uuid_of(0), third);
              EXPECT_EQ(uuid_of(1), first);
            }));
}

TEST(Devices, given_a_list_that_names_none_then_there_is_no_device) {
  for (const char* list : {"", "-1", "3", "0,0", "GPU-none"})
    EXPECT_EQ(0, with_devices(3, list,
                              [&] {
                                CU_IS(CUDA_ERROR_NO_DEVICE, cuInit(0));
                                int count = 0;
                                CU_IS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
                              }))
        << list;
}

TEST(Devices, given_contexts_on_two_devices_then_memory_and_results_are_apart) {
  EXPECT_EQ(
      0, with_devices(3, nullptr, [] {
        CU_OK(cuInit(0));
        CUcontext contexts[2];
        CUdeviceptr data[2];
        for (int i = 0; i < 2; ++i) {
          CU_OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
          CU_OK(cuCtxSetCurrent(contexts[i]));
          CUdevice device = -1;
          CU_OK(cuCtxGetDevice(&device));
          EXPECT_EQ(device, i);
          CU_OK(cuMemAlloc(&data[i], 64 << 20));
          int ordinal = -1;
          CU_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, data[i]));
          EXPECT_EQ(ordinal, i);
          CUmodule module = nullptr;
          CUfunction add_one = nullptr;
          CU_OK(cuModuleLoadData(&module, kTestPtx));
          CU_OK(cuModuleGetFunction(&add_one, module, "add_one"));
          CU_OK(cuMemsetD32(data[i], 10 * (i + 1), 4));
          unsigned n = 4;
          void* params[] = {&data[i], &n};
          CU_OK(cuLaunchKernel(add_one, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
          CU_OK(cuCtxSynchronize());
        }
        int values[2] = {};
        for (int i = 0; i < 2; ++i) CU_OK(cuMemcpyDtoH(&values[i], data[i], 4));
        EXPECT_THAT(values, testing::ElementsAre(11, 21));
        CU_OK(cuCtxSetCurrent(contexts[0]));
        const size_t before = free_bytes();
        CU_OK(cuMemFree(data[1]));  // of the other device, from here
        EXPECT_EQ(free_bytes(), before);
        CU_OK(cuMemFree(data[0]));
        EXPECT_EQ(free_bytes(), before + (64 << 20));
      }));
}

TEST(Devices, given_an_event_on_another_device_when_a_stream_waits_then_it_comes_after) {
  EXPECT_EQ(0, with_devices(2, nullptr, [] {
              CU_OK(cuInit(0));
              CUcontext contexts[2];
              CUstream streams[2];
              CUdeviceptr data = 0;
              for (int i = 0; i < 2; ++i) {
                CU_OK(cuCtxCreate(&contexts[i], nullptr, 0, i));
                CU_OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
                CUdevice device = -1;
                CU_OK(cuStreamGetDevice(streams[i], &device));
                EXPECT_EQ(device, i);
              }
              CU_OK(cuCtxSetCurrent(contexts[0]));
              CUmodule module = nullptr;
              CUfunction spin = nullptr;
              CUevent event = nullptr;
              CU_OK(cuModuleLoadData(&module, kTestPtx));
              CU_OK(cuModuleGetFunction(&spin, module, "spin"));
              CU_OK(cuMemAlloc(&data, 4));
              CU_OK(cuEventCreate(&event, 0));
              unsigned turns = 200000;
              void* params[] = {&turns};
              CU_OK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, streams[0], params, nullptr));
              CU_OK(cuMemsetD32Async(data, 77, 1, streams[0]));
              CU_OK(cuEventRecord(event, streams[0]));
              CU_OK(cuCtxSetCurrent(contexts[1]));
              CUdeviceptr copy = 0;
              CU_OK(cuMemAlloc(&copy, 4));
              CU_IS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, streams[1]));
              CU_OK(cuStreamWaitEvent(streams[1], event, 0));
              CU_OK(cuMemcpyPeerAsync(copy, contexts[1], data, contexts[0], 4, streams[1]));
              CU_OK(cuStreamSynchronize(streams[1]));
              CU_OK(cuEventQuery(event));
              int value = 0;
              CU_OK(cuMemcpyDtoH(&value, copy, 4));
              EXPECT_EQ(value, 77);
            }));
}

TEST(Devices, given_peer_access_then_kernels_reach_the_other_device) {
  EXPECT_EQ(0, with_devices(2, nullptr, [] {
              CU_OK(cuInit(0));
              int can = -1;
              CU_OK(cuDeviceCanAccessPeer(&can, 0, 1));
              EXPECT_EQ(can, 1);
              CU_OK(cuDeviceCanAccessPeer(&can, 1, 1));
              EXPECT_EQ(can, 0);
              CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, 0, 2));
              CU_OK(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
              EXPECT_EQ(can, 1);
              CU_IS(CUDA_ERROR_INVALID_DEVICE,
                    cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
              CUcontext mine = nullptr, other = nullptr;
              CUdeviceptr data = 0;
              CU_OK(cuCtxCreate(&other, nullptr, 0, 1));
              CU_OK(cuMemAlloc(&data, 16));
              CU_OK(cuMemsetD32(data, 5, 4));
              CU_OK(cuCtxSynchronize());
              CU_OK(cuCtxCreate(&mine, nullptr, 0, 0));
              CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(mine, 0));
              CU_IS(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess(other, 1));
              CU_IS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
              CU_OK(cuCtxEnablePeerAccess(other, 0));
              CU_IS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(other, 0));
              CUmodule module = nullptr;
              CUfunction add_one = nullptr;
              CU_OK(cuModuleLoadData(&module, kTestPtx));
              CU_OK(cuModuleGetFunction(&add_one, module, "add_one"));
              unsigned n = 4;
              void* params[] = {&data, &n};
              CU_OK(cuLaunchKernel(add_one, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
              CU_OK(cuCtxSynchronize());
              int value = 0;
              CU_OK(cuMemcpyDtoH(&value, data, 4));
              EXPECT_EQ(value, 6);
              CU_OK(cuCtxDisablePeerAccess(other));
              CU_OK(cuLaunchKernel(add_one, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
              CU_IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
            }));
}

TEST(Devices, given_a_server_with_another_number_then_the_process_is_refused) {
  Signal started, refused;
  const std::string directory = std::string(getenv("SIMGPU_DIR")) + "/shared";
  Child two = Child::checking([&] {
    setenv("SIMGPU_DIR", directory.c_str(), 1);
    setenv("SIMGPU_DEVICES", "2", 1);
    CU_OK(cuInit(0));
    started.raise();
    refused.await();
  });
  started.await();
  Child four = Child::checking([&] {
    setenv("SIMGPU_DIR", directory.c_str(), 1);
    setenv("SIMGPU_DEVICES", "4", 1);
    CU_IS(CUDA_ERROR_NO_DEVICE, cuInit(0));
  });
  EXPECT_EQ(four.wait(), 0);
  Child any = Child::checking([&] {
    setenv("SIMGPU_DIR", directory.c_str(), 1);
    CU_OK(cuInit(0));
    EXPECT_EQ(count_of(), 2);
  });
  EXPECT_EQ(any.wait(), 0);
  refused.raise();
  EXPECT_EQ(two.wait(), 0);
}

}  // namespace
}  // namespace gacer::simdriver
