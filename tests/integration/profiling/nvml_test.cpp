// SPDX-License-Identifier: Apache-2.0
// NVML's answers to right and wrong questions, in one process with the driver.
#include <nvml.h>
#include <unistd.h>

#include <string>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simnvml {
namespace {

class NvmlTest : public simdriver::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(NVML_SUCCESS, nvmlInit());
    ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetHandleByIndex(0, &device_));
  }
  void TearDown() override {
    EXPECT_EQ(NVML_SUCCESS, nvmlShutdown());
    DeviceTest::TearDown();
  }
  nvmlDevice_t device_ = nullptr;
};

TEST(NvmlWithoutInit, EverythingIsUninitialized) {
  unsigned count = 0;
  EXPECT_EQ(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount(&count));
  EXPECT_EQ(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetFanSpeed(nullptr, &count));
  EXPECT_EQ(NVML_ERROR_UNINITIALIZED, nvmlShutdown());
  EXPECT_STREQ("Uninitialized", nvmlErrorString(NVML_ERROR_UNINITIALIZED));
}

TEST_F(NvmlTest, DeviceIsTheDriversDevice) {
  CUuuid uuid{};
  char bus[32] = "", text[96] = "", name[96] = "", cu_name[96] = "";
  CU_OK(cuDeviceGetUuid(&uuid, 0));
  CU_OK(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
  CU_OK(cuDeviceGetName(cu_name, sizeof cu_name, 0));
  ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetUUID(device_, text, sizeof text));
  ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetName(device_, name, sizeof name));
  std::string expected = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) expected += '-';
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    expected += digits;
  }
  EXPECT_EQ(expected, text);
  EXPECT_STREQ(cu_name, name);
  nvmlDevice_t same = nullptr;
  EXPECT_EQ(NVML_SUCCESS, nvmlDeviceGetHandleByUUID(text, &same));
  EXPECT_EQ(device_, same);
  EXPECT_EQ(NVML_SUCCESS, nvmlDeviceGetHandleByPciBusId(bus, &same));
  EXPECT_EQ(device_, same);
}

TEST_F(NvmlTest, MemoryIsWhatTheDriverSaysAndTheProcessIsListed) {
  CUdeviceptr data = 0;
  CU_OK(cuMemAlloc(&data, 64 << 20));
  size_t free_bytes = 0, total = 0;
  CU_OK(cuMemGetInfo(&free_bytes, &total));
  nvmlMemory_t memory{};
  ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetMemoryInfo(device_, &memory));
  EXPECT_EQ(total, memory.total);
  EXPECT_EQ(free_bytes, memory.free);
  EXPECT_EQ(memory.total, memory.free + memory.used);
  nvmlMemory_v2_t newer{};
  EXPECT_EQ(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetMemoryInfo_v2(device_, &newer));
  newer.version = nvmlMemory_v2;
  ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetMemoryInfo_v2(device_, &newer));
  EXPECT_EQ(newer.total, newer.reserved + newer.free + newer.used);

  unsigned count = 0;
  EXPECT_EQ(NVML_ERROR_INSUFFICIENT_SIZE,
            nvmlDeviceGetComputeRunningProcesses(device_, &count, nullptr));
  ASSERT_EQ(1U, count);
  nvmlProcessInfo_t info{};
  ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetComputeRunningProcesses(device_, &count, &info));
  EXPECT_EQ(static_cast<unsigned>(getpid()), info.pid);
  EXPECT_EQ(memory.used, info.usedGpuMemory);
  CU_OK(cuMemFree(data));
  ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetComputeRunningProcesses(device_, &count, &info));
  EXPECT_EQ(memory.used - (64 << 20), info.usedGpuMemory);
  ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetMPSComputeRunningProcesses(device_, &count, &info));
  EXPECT_EQ(0U, count);
}

TEST_F(NvmlTest, UtilisationIsTheShareOfTimeWithAKernelRunning) {
  // Long enough to fill the sample period of the model's time.
  for (int i = 0; i < 2; ++i) CU_OK(spin(20'000'000));
  nvmlUtilization_t busy{};
  for (int tries = 0; tries < 4000 && busy.gpu < 90; ++tries) {
    ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetUtilizationRates(device_, &busy));
    usleep(1000);
  }
  EXPECT_GE(busy.gpu, 90U);
  nvmlProcessUtilizationSample_t sample{};
  unsigned count = 1;
  ASSERT_EQ(NVML_SUCCESS, nvmlDeviceGetProcessUtilization(device_, &sample, &count, 0));
  EXPECT_EQ(static_cast<unsigned>(getpid()), sample.pid);
  EXPECT_GE(sample.smUtil, 50U);
}

TEST_F(NvmlTest, WrongArgumentsAreRefused) {
  char small[4];
  nvmlDevice_t other = nullptr;
  unsigned value = 0;
  EXPECT_EQ(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex(1, &other));
  EXPECT_EQ(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetName(nullptr, small, sizeof small));
  EXPECT_EQ(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetMemoryInfo(device_, nullptr));
  EXPECT_EQ(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetName(device_, small, sizeof small));
  EXPECT_EQ(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByUUID("GPU-0", &other));
  EXPECT_EQ(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetPowerUsage(device_, &value));
  EXPECT_EQ(NVML_ERROR_NOT_SUPPORTED,
            nvmlDeviceGetTemperature(device_, NVML_TEMPERATURE_GPU, &value));
  EXPECT_EQ(NVML_ERROR_NOT_FOUND, nvmlDeviceGetMigDeviceHandleByIndex(device_, 0, &other));
}

TEST_F(NvmlTest, AnEventSetTimesOut) {
  nvmlEventSet_t set = nullptr;
  nvmlEventData_t data{};
  ASSERT_EQ(NVML_SUCCESS, nvmlEventSetCreate(&set));
  EXPECT_EQ(NVML_ERROR_TIMEOUT, nvmlEventSetWait(set, &data, 1));
  EXPECT_EQ(NVML_SUCCESS, nvmlEventSetFree(set));
}

}  // namespace
}  // namespace gacer::simnvml
