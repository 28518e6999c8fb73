// SPDX-License-Identifier: Apache-2.0
// cuLibrary*, cuKernel*
#include <gmock/gmock.h>

#include "tests/integration/simdriver/sim_fixture.h"
#include "tests/integration/simmodules/image_file.h"

namespace gacer::simdriver {
namespace {

class LibraryTest : public DeviceTest {
 protected:
  void load(const std::string& name) {
    CU_OK(cuLibraryLoadFromFile(&library_, image_path(name).c_str(), nullptr, nullptr, 0, nullptr,
                                nullptr, 0));
    CU_OK(cuLibraryGetKernel(&kernel_, library_, "add_all"));
  }
  CUlibrary library_ = nullptr;
  CUkernel kernel_ = nullptr;
};

TEST_F(LibraryTest, KernelsOfMachineCodeAreKnownWithoutAModule) {
  load("machine.cubin");
  unsigned count = 0;
  CU_OK(cuLibraryGetKernelCount(&count, library_));
  ASSERT_EQ(count, 1u);
  CUkernel found = nullptr;
  CU_OK(cuLibraryEnumerateKernels(&found, 1, library_));
  EXPECT_EQ(found, kernel_);
  const char* name = nullptr;
  CU_OK(cuKernelGetName(&name, kernel_));
  EXPECT_STREQ(name, "add_all");
  CUlibrary owner = nullptr;
  CU_OK(cuKernelGetLibrary(&owner, kernel_));
  EXPECT_EQ(owner, library_);
}

TEST_F(LibraryTest, EachContextHasItsOwnModuleAndVariables) {
  load("machine_both.fatbin");
  CUdeviceptr here = 0, there = 0;
  size_t bytes = 0;
  CU_OK(cuLibraryGetGlobal(&here, &bytes, library_, "word"));
  CUcontext second = nullptr;
  CU_OK(cuCtxCreate(&second, nullptr, 0, 0));
  CU_OK(cuLibraryGetGlobal(&there, &bytes, library_, "word"));
  EXPECT_NE(here, there);
  CUfunction one = nullptr, two = nullptr;
  CU_OK(cuKernelGetFunction(&two, kernel_));
  CU_OK(cuCtxDestroy(second));
  CU_OK(cuCtxSetCurrent(context_));
  CU_OK(cuKernelGetFunction(&one, kernel_));
  EXPECT_NE(one, two);
  EXPECT_THAT(read_ints(here, 1), testing::ElementsAre(11));
}

TEST_F(LibraryTest, ManagedVariablesAreFoundAsSuch) {
  load("machine_both.fatbin");
  CUdeviceptr managed = 0;
  size_t bytes = 0;
  CU_OK(cuLibraryGetManaged(&managed, &bytes, library_, "shared_with_host"));
  EXPECT_EQ(*reinterpret_cast<int*>(managed), 5);
  CU_IS(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged(&managed, &bytes, library_, "word"));
  void* unified = nullptr;
  CU_IS(CUDA_ERROR_NOT_FOUND, cuLibraryGetUnifiedFunction(&unified, library_, "add_all"));
}

TEST_F(LibraryTest, AKernelIsLaunchedByItsOwnHandle) {
  load("machine_both.fatbin");
  CUdeviceptr data = allocate_ints({1, 2});
  short step = 1;
  int n = 2;
  void* params[] = {&data, &step, &n};
  CU_OK(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel_), 1, 1, 1, 32, 1, 1, 0, nullptr, params,
                       nullptr));
  EXPECT_THAT(read_ints(data, 2), testing::ElementsAre(28, 29));
}

TEST_F(LibraryTest, ParametersAndAttributesOfAKernel) {
  load("machine_both.fatbin");
  size_t offset = 0, bytes = 0;
  CU_OK(cuKernelGetParamInfo(kernel_, 2, &offset, &bytes));
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(bytes, 4u);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(kernel_, 3, &offset, &bytes));
  int value = 0;
  CU_OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel_, 0));
  EXPECT_EQ(value, 128);
  CU_OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, kernel_, 0));
  CU_OK(cuKernelSetCacheConfig(kernel_, CU_FUNC_CACHE_PREFER_L1, 0));
  CUfunction function = nullptr;
  CU_OK(cuKernelGetFunction(&function, kernel_));
  CU_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  EXPECT_EQ(value, 65536);
}

TEST_F(LibraryTest, AfterUnloadingNothingIsLeft) {
  load("machine_both.fatbin");
  CUmodule module = nullptr;
  CU_OK(cuLibraryGetModule(&module, library_));
  CU_OK(cuLibraryUnload(library_));
  const char* name = nullptr;
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName(&name, kernel_));
  CUfunction f = nullptr;
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&f, module, "add_all"));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library_));
}

TEST_F(LibraryTest, BrokenImagesLeaveNoKernels) {
  CU_IS(CUDA_ERROR_INVALID_PTX,
        cuLibraryLoadData(&library_, ".version 8.0\n.target sm_80\n.visible .entry k() { x; }\n",
                          nullptr, nullptr, 0, nullptr, nullptr, 0));
  CU_IS(CUDA_ERROR_NO_BINARY_FOR_GPU,
        cuLibraryLoadFromFile(&library_, image_path("machine_90.cubin").c_str(), nullptr, nullptr,
                              0, nullptr, nullptr, 0));
}

}  // namespace
}  // namespace gacer::simdriver
