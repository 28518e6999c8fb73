// SPDX-License-Identifier: Apache-2.0
// Initialisation, contexts, device queries, errors, cuGetProcAddress.
#include <dlfcn.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

using DriverTest = DeviceTest;

TEST_F(DriverTest, DescribesTheDevice) {
  char name[64];
  CU_OK(cuDeviceGetName(name, sizeof name, 0));
  EXPECT_STREQ(name, "NVIDIA A100-SXM4-40GB");
  const auto attribute = [](CUdevice_attribute id) {
    int value = -1;
    EXPECT_EQ(CUDA_SUCCESS, cuDeviceGetAttribute(&value, id, 0));
    return value;
  };
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 108);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 166912);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED), 0);
  int value = 0;
  for (int id = 1; id < CU_DEVICE_ATTRIBUTE_MAX; ++id)
    CU_IS(CUDA_SUCCESS, cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(id), 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0));
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));
  CUdevice device = 0;
  CU_IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 1));
}

TEST_F(DriverTest, ContextsAreAStackOfTheThread) {
  CUcontext second = nullptr, current = nullptr, popped = nullptr;
  CU_OK(cuCtxCreate(&second, nullptr, 0, 0));
  CU_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, second);
  CU_OK(cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, second);
  CU_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  CUcontext seen = context_;
  std::thread([&] { cuCtxGetCurrent(&seen); }).join();
  EXPECT_EQ(seen, nullptr);
  CU_OK(cuCtxDestroy(second));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(second));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(second));
}

TEST_F(DriverTest, WithoutAContextCallsAreRefused) {
  CU_OK(cuCtxSetCurrent(nullptr));
  CUdeviceptr address = 0;
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&address, 4));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
  CUstream stream = nullptr;
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&stream, 0));
  CU_OK(cuCtxSetCurrent(context_));
}

TEST_F(DriverTest, TwoContextsHaveTheirOwnLegacyStreams) {
  CUdeviceptr mine = allocate_ints({1});
  CUcontext second = nullptr;
  CU_OK(cuCtxCreate(&second, nullptr, 0, 0));
  CUdeviceptr theirs = 0;
  CU_OK(cuMemAlloc(&theirs, 4));
  CU_OK(cuMemsetD32Async(theirs, 5, 1, nullptr));
  CU_OK(cuCtxSetCurrent(context_));
  CU_OK(add_one(mine, 1));
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(read_ints(mine, 1)[0], 2);
  CU_OK(cuCtxSetCurrent(second));
  EXPECT_EQ(read_ints(theirs, 1)[0], 5);
  CU_IS(CUDA_ERROR_INVALID_HANDLE, add_one(theirs, 1));  // a function of the other context
  CU_OK(cuCtxDestroy(second));
  CU_OK(cuCtxSetCurrent(context_));
}

TEST_F(DriverTest, DestroyingAContextGivesItsMemoryBack) {
  size_t before = 0, after = 0, total = 0;
  CU_OK(cuMemGetInfo(&before, &total));
  CUcontext second = nullptr;
  CU_OK(cuCtxCreate(&second, nullptr, 0, 0));
  CUdeviceptr address = 0;
  CU_OK(cuMemAlloc(&address, 100 << 20));
  CUstream stream = nullptr;
  CU_OK(cuStreamCreate(&stream, 0));
  CU_OK(cuCtxDestroy(second));
  CU_OK(cuCtxSetCurrent(context_));
  CU_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
}

TEST_F(DriverTest, ThePrimaryContextIsCounted) {
  unsigned flags = 0;
  int active = 1;
  CU_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
  CUcontext first = nullptr, second = nullptr;
  CU_OK(cuDevicePrimaryCtxRetain(&first, 0));
  CU_OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(first, second);
  CU_OK(cuDevicePrimaryCtxRelease(0));
  CU_OK(cuCtxSetCurrent(first));
  CUdeviceptr address = 0;
  CU_OK(cuMemAlloc(&address, 16));
  CU_OK(cuMemsetD32(address, 3, 4));
  EXPECT_EQ(read_ints(address, 1)[0], 3);
  CU_OK(cuDevicePrimaryCtxRelease(0));
  CU_IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 16));
  CU_IS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
  // Active again, with a working default stream.
  CU_OK(cuDevicePrimaryCtxRetain(&first, 0));
  CU_OK(cuCtxSetCurrent(first));
  CU_OK(cuMemAlloc(&address, 16));
  CU_OK(cuMemsetD32(address, 4, 4));
  EXPECT_EQ(read_ints(address, 1)[0], 4);
  CU_OK(cuDevicePrimaryCtxReset(0));
  CU_OK(cuCtxSetCurrent(context_));
}

TEST_F(DriverTest, ErrorNamesAndTextsCoverTheHeader) {
  std::stringstream header;
  header << std::ifstream(CUDA_HEADER).rdbuf();
  std::string text = header.str();
  text = text.substr(text.find("typedef enum cudaError_enum"));
  text = text.substr(0, text.find("} CUresult;"));
  const std::regex row(R"((CUDA_[A-Z0-9_]+)\s*=\s*(\d+))");
  int rows = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it, ++rows) {
    const char* name = nullptr;
    const char* words = nullptr;
    const auto code = static_cast<CUresult>(std::stoi((*it)[2]));
    CU_IS(CUDA_SUCCESS, cuGetErrorName(code, &name));
    CU_IS(CUDA_SUCCESS, cuGetErrorString(code, &words));
    EXPECT_EQ((*it)[1].str(), name);
    EXPECT_GT(strlen(words), 3U);
  }
  EXPECT_GT(rows, 90);
  const char* none = "";
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(555), &none));
  EXPECT_EQ(none, nullptr);
}

// Every function of cudaTypedefs.h, at its first version and at the newest.
TEST_F(DriverTest, ProcAddressKnowsEveryFunctionOfTheHeader) {
  std::stringstream header;
  header << std::ifstream(CUDA_TYPEDEFS).rdbuf();
  const std::string text = header.str();
  const std::regex row(R"(\*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\))");
  int rows = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it, ++rows) {
    const cuuint64_t flags = (*it)[3].matched ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                              : CU_GET_PROC_ADDRESS_DEFAULT;
    void* address = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CU_IS(CUDA_SUCCESS,
          cuGetProcAddress((*it)[1].str().c_str(), &address, std::stoi((*it)[2]), flags, &status));
    EXPECT_NE(address, nullptr) << (*it)[0];
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    Dl_info info{};
    ASSERT_NE(dladdr(address, &info), 0);
    const std::string symbol = info.dli_sname;
    EXPECT_TRUE(symbol.starts_with((*it)[1].str())) << symbol;
    EXPECT_EQ(symbol.ends_with("_ptds") || symbol.ends_with("_ptsz"), (*it)[3].matched) << symbol;
  }
  EXPECT_GT(rows, 600);
}

TEST_F(DriverTest, ProcAddressTellsVersionsApart) {
  const auto symbol = [](const char* name, int version, cuuint64_t flags) -> std::string {
    void* address = nullptr;
    if (cuGetProcAddress(name, &address, version, flags, nullptr) != CUDA_SUCCESS) return "";
    Dl_info info{};
    dladdr(address, &info);
    return info.dli_sname;
  };
  EXPECT_EQ(symbol("cuMemAlloc", 3010, 0), "cuMemAlloc");
  EXPECT_EQ(symbol("cuMemAlloc", 3020, 0), "cuMemAlloc_v2");
  EXPECT_EQ(symbol("cuCtxCreate", 12040, 0), "cuCtxCreate_v3");
  EXPECT_EQ(symbol("cuCtxCreate", 13000, 0), "cuCtxCreate_v4");
  EXPECT_EQ(symbol("cuGetProcAddress", 11040, 0), "cuGetProcAddress");
  EXPECT_EQ(symbol("cuGetProcAddress", 12000, 0), "cuGetProcAddress_v2");
  EXPECT_EQ(symbol("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            "cuLaunchKernel_ptsz");
  EXPECT_EQ(symbol("cuMemcpyHtoD", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            "cuMemcpyHtoD_v2_ptds");
  EXPECT_EQ(symbol("cuCtxCreate", 1000, 0), "");
}

TEST_F(DriverTest, ProcAddressSaysWhyNot) {
  void* address = &address;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  CU_OK(cuGetProcAddress("cuNoSuchCall", &address, 12000, 0, &status));
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  CU_OK(cuGetProcAddress("cuGraphCreate", &address, 9000, 0, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  CU_IS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchCall", &address, 12000, 0, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &address, 14000, 0, &status));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress(nullptr, &address, 12000, 0, &status));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &address, 12000, 64, &status));
}

TEST_F(DriverTest, WhatIsNotWrittenSaysSo) {
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR description{16, 16, CU_AD_FORMAT_FLOAT, 1};
  CU_IS(CUDA_ERROR_NOT_SUPPORTED, cuArrayCreate(&array, &description));
  const void* table = &table;
  CUuuid id{};
  CU_IS(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
  EXPECT_EQ(table, nullptr);
}

TEST_F(DriverTest, OccupancyFollowsTheKernel) {
  int blocks = 0, grid = 0, block = 0;
  CUfunction f = function("add_one");
  CU_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
  EXPECT_EQ(blocks, 2);
  CU_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 64, 40000));
  EXPECT_EQ(blocks, 4);
  CU_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, nullptr, 0, 0));
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 216);
}

}  // namespace
}  // namespace gacer::simdriver
