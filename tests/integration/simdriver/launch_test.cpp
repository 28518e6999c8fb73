// SPDX-License-Identifier: Apache-2.0
// Modules, launches, memory and copies against the running device.
#include <cstring>
#include <numeric>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

using LaunchTest = DeviceTest;

TEST_F(LaunchTest, AKernelChangesWhatItIsGivenAndNothingElse) {
  std::vector<int> values(200);
  std::iota(values.begin(), values.end(), 0);
  const CUdeviceptr data = allocate_ints(values);
  CU_OK(add_one(data, 130));
  const auto result = read_ints(data, 200);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(result[i], i + (i < 130 ? 1 : 0));
}

TEST_F(LaunchTest, ParametersOfAllSizesArriveFromPointersAndFromABuffer) {
  CUdeviceptr out = allocate_ints(std::vector<int>(8, -1));
  struct {
    CUdeviceptr out;
    uint8_t small = 200;
    uint64_t large = 0x123456789abcdef0;
    float real = 1.5F;
  } args{out};
  size_t bytes = sizeof args;
  void* pointers[] = {&args.out, &args.small, &args.large, &args.real};
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  for (const bool packed : {false, true}) {
    CU_OK(cuMemsetD32(out, 0, 8));
    CU_OK(cuLaunchKernel(function("store_mixed"), 1, 1, 1, 1, 1, 1, 0, nullptr,
                         packed ? nullptr : pointers, packed ? extra : nullptr));
    const auto words = read_ints(out, 8);
    uint64_t large = 0;
    float real = 0;
    memcpy(&large, &words[2], 8);
    memcpy(&real, &words[4], 4);
    EXPECT_EQ(words[0], 200);
    EXPECT_EQ(large, args.large);
    EXPECT_EQ(real, 1.5F);
  }
}

TEST_F(LaunchTest, WrongConfigurationsAreRefusedAndHarmNothing) {
  const CUdeviceptr data = allocate_ints({1, 2, 3});
  unsigned n = 3;
  void* params[] = {const_cast<CUdeviceptr*>(&data), &n};
  CUfunction f = function("add_one");
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuLaunchKernel(f, 1, 1, 1, 2000, 1, 1, 0, nullptr, params, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 200000, nullptr, params, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(reinterpret_cast<CUfunction>(&n), 1, 1, 1, 1, 1,
                                                  1, 0, nullptr, params, nullptr));
  CU_IS(CUDA_ERROR_INVALID_HANDLE,
        cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, reinterpret_cast<CUstream>(&n), params, nullptr));
  CU_OK(add_one(data, 3));
  EXPECT_EQ(read_ints(data, 3), (std::vector<int>{2, 3, 4}));
}

TEST_F(LaunchTest, LaunchExTakesPriorityAndRefusesClusters) {
  CUdeviceptr data = allocate_ints({5});
  unsigned n = 1;
  void* params[] = {&data, &n};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attribute.value.priority = -3;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 32;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CU_OK(cuLaunchKernelEx(&config, function("add_one"), params, nullptr));
  EXPECT_EQ(read_ints(data, 1)[0], 6);
  attribute.value.priority = 3;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, function("add_one"), params, nullptr));
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {2, 1, 1};
  CU_IS(CUDA_ERROR_NOT_SUPPORTED, cuLaunchKernelEx(&config, function("add_one"), params, nullptr));
}

TEST_F(LaunchTest, MalformedPtxGivesTheCompilersLine) {
  char log[512] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  const char* broken =
      ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() {\n  frobnicate.u32 %r1;\n}\n";
  CU_IS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&module, broken, 2, options, values));
  EXPECT_NE(strstr(log, "line 5"), nullptr) << log;
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), strlen(log));
  const char broken_elf[64] =
      "\x7f"
      "ELF\x02";
  CU_IS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, broken_elf));
  CU_IS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nonexistent.ptx"));
}

TEST_F(LaunchTest, GlobalsHaveAddressesAndInitialValues) {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  CU_OK(cuModuleGetGlobal(&address, &bytes, module_, "counter"));
  EXPECT_EQ(bytes, 4U);
  EXPECT_EQ(read_ints(address, 1)[0], 41);
  CU_IS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&address, &bytes, module_, "nothing"));
  CUfunction none = nullptr;
  CU_IS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module_, "nothing"));
}

TEST_F(LaunchTest, AUnloadedModulesHandlesAreInvalid) {
  CUmodule second = nullptr;
  CU_OK(cuModuleLoadData(&second, kTestPtx));
  CUfunction f = nullptr;
  CU_OK(cuModuleGetFunction(&f, second, "spin"));
  CU_OK(cuModuleUnload(second));
  unsigned turns = 1;
  void* params[] = {&turns};
  CU_IS(CUDA_ERROR_INVALID_HANDLE,
        cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(second));
}

TEST_F(LaunchTest, LibrariesGiveKernelsThatLaunchLikeFunctions) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CU_OK(cuLibraryLoadData(&library, kTestPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CU_OK(cuLibraryGetKernel(&kernel, library, "add_one"));
  CU_IS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "add_on"));
  CUdeviceptr data = allocate_ints({9});
  unsigned n = 1;
  void* params[] = {&data, &n};
  CU_OK(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, nullptr, params,
                       nullptr));
  CUfunction f = nullptr;
  CU_OK(cuKernelGetFunction(&f, kernel));
  CU_OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
  EXPECT_EQ(read_ints(data, 1)[0], 11);
  const char* name = nullptr;
  CU_OK(cuFuncGetName(&name, f));
  EXPECT_STREQ(name, "add_one");
  size_t offset = 0;
  size_t bytes = 0;
  CU_OK(cuFuncGetParamInfo(f, 1, &offset, &bytes));
  EXPECT_EQ(offset, 8U);
  EXPECT_EQ(bytes, 4U);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(f, 2, &offset, &bytes));
  CU_OK(cuLibraryUnload(library));
}

TEST_F(LaunchTest, LinkingOnePtxImageGivesAModule) {
  CUlinkState link = nullptr;
  CU_OK(cuLinkCreate(0, nullptr, nullptr, &link));
  CU_OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kTestPtx), strlen(kTestPtx) + 1,
                      "test", 0, nullptr, nullptr));
  void* cubin = nullptr;
  size_t bytes = 0;
  CU_OK(cuLinkComplete(link, &cubin, &bytes));
  CUmodule module = nullptr;
  CU_OK(cuModuleLoadData(&module, cubin));
  CU_OK(cuLinkDestroy(link));
  CUfunction f = nullptr;
  CU_OK(cuModuleGetFunction(&f, module, "spin"));
}

TEST_F(LaunchTest, MemoryIsCountedAndComesBack) {
  size_t free_before = 0, free_during = 0, free_after = 0, total = 0;
  CU_OK(cuMemGetInfo(&free_before, &total));
  CUdeviceptr address = 0;
  CU_OK(cuMemAlloc(&address, 64 << 20));
  CU_OK(cuMemGetInfo(&free_during, &total));
  EXPECT_LE(free_during, free_before - (64 << 20));
  CUdeviceptr base = 0;
  size_t bytes = 0;
  CU_OK(cuMemGetAddressRange(&base, &bytes, address + 1000));
  EXPECT_EQ(base, address);
  EXPECT_EQ(bytes, size_t{64} << 20);
  CU_OK(cuMemFree(address));
  CU_OK(cuMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_after, free_before);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
  CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, total * 2));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&address, 0));
}

TEST_F(LaunchTest, StreamOrderedMemoryIsFreedWhenTheStreamGetsThere) {
  size_t before = 0, after = 0, total = 0;
  CUstream stream = nullptr;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_OK(cuMemGetInfo(&before, &total));
  CUdeviceptr data = 0;
  CU_OK(cuMemAllocAsync(&data, 8 << 20, stream));
  CU_OK(cuMemsetD32Async(data, 7, 1000, stream));
  CU_OK(add_one(data, 1000, stream));
  int first = 0;
  CU_OK(cuMemcpyDtoHAsync(&first, data, 4, stream));
  CU_OK(cuMemFreeAsync(data, stream));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(data, stream));
  CU_OK(cuStreamSynchronize(stream));
  CU_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(first, 8);
  EXPECT_EQ(after, before);
}

TEST_F(LaunchTest, PinnedMemoryIsSeenByKernels) {
  void* host = nullptr;
  CU_OK(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  int* values = static_cast<int*>(host);
  std::iota(values, values + 100, 0);
  CUdeviceptr device = 0;
  CU_OK(cuMemHostGetDevicePointer(&device, host, 0));
  CU_OK(add_one(device, 100));
  CU_OK(cuCtxSynchronize());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(values[i], i + 1);
  CU_OK(cuMemFreeHost(host));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(host));
}

TEST_F(LaunchTest, ManagedMemoryIsSharedBothWays) {
  CUdeviceptr address = 0;
  CU_OK(cuMemAllocManaged(&address, 400, CU_MEM_ATTACH_GLOBAL));
  int* values = reinterpret_cast<int*>(address);
  for (int i = 0; i < 100; ++i) values[i] = i;
  CU_OK(add_one(address, 100));
  CU_OK(cuCtxSynchronize());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(values[i], i + 1);
  unsigned managed = 0;
  CU_OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
  EXPECT_EQ(managed, 1U);
  CUmemLocation device{};
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CU_OK(cuMemPrefetchAsync(address, 400, device, 0, nullptr));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(address, 401, device, 0, nullptr));
  CU_OK(cuMemFree(address));
}

TEST_F(LaunchTest, RowsAreCopiedWithTheirPitch) {
  CUdeviceptr device = 0;
  size_t pitch = 0;
  CU_OK(cuMemAllocPitch(&device, &pitch, 40, 5, 4));
  EXPECT_EQ(pitch % 512, 0U);
  std::vector<int> source(50);
  std::iota(source.begin(), source.end(), 0);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = source.data();
  copy.srcPitch = 40;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 40;
  copy.Height = 5;
  CU_OK(cuMemcpy2D(&copy));
  EXPECT_EQ(read_ints(device + 3 * pitch, 10),
            (std::vector<int>(source.begin() + 30, source.begin() + 40)));
  CU_OK(cuMemsetD2D32(device, pitch, 9, 2, 5));
  EXPECT_EQ(read_ints(device + 4 * pitch, 3), (std::vector<int>{9, 9, 42}));
}

TEST_F(LaunchTest, PointerAttributesTellWhereMemoryLives) {
  const CUdeviceptr device = allocate_ints({1});
  unsigned type = 0;
  CUcontext owner = nullptr;
  CU_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  CU_OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, device));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(owner, context_);
  int local = 0;
  const auto unknown = reinterpret_cast<CUdeviceptr>(&local);
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unknown));
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* out = &type;
  CU_OK(cuPointerGetAttributes(1, &attribute, &out, unknown));
  EXPECT_EQ(type, 0U);
}

TEST_F(LaunchTest, CopiesBeyondAnAllocationAreRefused) {
  const CUdeviceptr device = allocate_ints({1, 2});
  int buffer[4] = {};
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(buffer, device, 12));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(device + 4, buffer, 8));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(device + 2, 0, 1));
  CU_OK(cuMemcpyDtoH(buffer, device, 0));
}

}  // namespace
}  // namespace gacer::simdriver
