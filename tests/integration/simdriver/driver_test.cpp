// SPDX-License-Identifier: Apache-2.0
// Initialisation, contexts, device queries, errors, cuGetProcAddress.
#include <dlfcn.h>

#include <cctype>
#include <cstring>
#include <fstream>
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

std::string read_text(const char* path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool is_word(char c) {
  return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string word_at(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

// (name, number) of every "NAME = number" in the enum of results.
std::vector<std::pair<std::string, int>> results_of_header() {
  std::string text = read_text(CUDA_HEADER);
  text = text.substr(text.find("typedef enum cudaError_enum"));
  text = text.substr(0, text.find("} CUresult;"));
  std::vector<std::pair<std::string, int>> found;
  for (size_t at = text.find("CUDA_"); at != std::string::npos; at = text.find("CUDA_", at + 1)) {
    const std::string name = word_at(text, at);
    const size_t next = text.find_first_not_of(' ', at + name.size());
    if (text[next] == '=') found.emplace_back(name, std::stoi(text.substr(next + 1)));
  }
  return found;
}

TEST_F(DriverTest, ErrorNamesAndTextsCoverTheHeader) {
  const auto rows = results_of_header();
  EXPECT_GT(rows.size(), 90U);
  for (const auto& [expected, number] : rows) {
    const char* name = nullptr;
    const char* words = nullptr;
    CU_IS(CUDA_SUCCESS, cuGetErrorName(static_cast<CUresult>(number), &name));
    CU_IS(CUDA_SUCCESS, cuGetErrorString(static_cast<CUresult>(number), &words));
    EXPECT_EQ(expected, name);
    EXPECT_GT(strlen(words), 3U);
  }
  const char* none = "";
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(555), &none));
  EXPECT_EQ(none, nullptr);
}

struct HeaderFunction {
  std::string name;
  int version = 0;
  bool per_thread = false;
};

// Every PFN_<name>_v<version>[_ptds|_ptsz] of cudaTypedefs.h.
std::vector<HeaderFunction> functions_of_header() {
  const std::string text = read_text(CUDA_TYPEDEFS);
  const std::string mark = "*PFN_";
  std::vector<HeaderFunction> found;
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    std::string word = word_at(text, at + mark.size());
    HeaderFunction function;
    function.per_thread = word.ends_with("_ptds") || word.ends_with("_ptsz");
    if (function.per_thread) word.resize(word.size() - 5);
    const size_t version = word.rfind("_v");
    function.name = word.substr(0, version);
    function.version = std::stoi(word.substr(version + 2));
    found.push_back(function);
  }
  return found;
}

TEST_F(DriverTest, ProcAddressKnowsEveryFunctionOfTheHeader) {
  const auto functions = functions_of_header();
  EXPECT_GT(functions.size(), 600U);
  for (const HeaderFunction& function : functions) {
    const cuuint64_t flags = function.per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                                 : CU_GET_PROC_ADDRESS_DEFAULT;
    void* address = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CU_IS(CUDA_SUCCESS,
          cuGetProcAddress(function.name.c_str(), &address, function.version, flags, &status));
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    Dl_info info{};
    ASSERT_NE(dladdr(address, &info), 0) << function.name;
    const std::string symbol = info.dli_sname;
    EXPECT_TRUE(symbol.starts_with(function.name)) << symbol;
    EXPECT_EQ(symbol.ends_with("_ptds") || symbol.ends_with("_ptsz"), function.per_thread)
        << symbol;
  }
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
  CU_IS(CUDA_ERROR_NOT_SUPPORTED, cuGraphicsUnregisterResource(nullptr));
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
