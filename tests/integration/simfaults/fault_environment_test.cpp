// SPDX-License-Identifier: Apache-2.0
// SIMGPU_FAULT: what a program sees.
#include <cstdlib>

#include "tests/integration/simdriver/child.h"
#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

// A child with those rules in its environment that has a context and the test module.
int with_rules(const char* rules, const std::function<void(CUfunction)>& body) {
  return Child::checking([&] {
           setenv("SIMGPU_FAULT", rules, 1);
           CUcontext context = nullptr;
           CUmodule module = nullptr;
           CUfunction spin = nullptr;
           CU_OK(cuInit(0));
           CU_OK(cuCtxCreate(&context, nullptr, 0, 0));
           CU_OK(cuModuleLoadData(&module, kTestPtx));
           CU_OK(cuModuleGetFunction(&spin, module, "spin"));
           body(spin);
         })
      .wait();
}

CUresult launch(CUfunction spin) {
  unsigned turns = 100;
  void* params[] = {&turns};
  return cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr);
}

TEST(FaultEnvironment, ALaunchFailureIsSticky) {
  EXPECT_EQ(with_rules("launch:spin@2",
                       [](CUfunction spin) {
                         CU_OK(launch(spin));
                         CU_OK(cuCtxSynchronize());
                         CU_OK(launch(spin));
                         CU_IS(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
                         CUdeviceptr data = 0;
                         CU_IS(CUDA_ERROR_LAUNCH_FAILED, cuMemAlloc(&data, 512));
                       }),
            0);
}

TEST(FaultEnvironment, MemoryRunsOutOnEveryPath) {
  EXPECT_EQ(with_rules("oom",
                       [](CUfunction) {
                         CUdeviceptr data = 0;
                         CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&data, 512));
                         CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&data, 512, nullptr));
                         CUmemAllocationProp prop{};
                         prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
                         prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
                         CUmemGenericAllocationHandle handle = 0;
                         CU_IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, 2 << 20, &prop, 0));
                         CU_OK(cuCtxSynchronize());
                       }),
            0);
}

TEST(FaultEnvironment, OtherProcessesAreNotConcerned) {
  Signal failed;
  Child other = Child::checking([&] {
    failed.await();
    CUcontext context = nullptr;
    CUdeviceptr data = 0;
    CU_OK(cuInit(0));
    CU_OK(cuCtxCreate(&context, nullptr, 0, 0));
    CU_OK(cuMemAlloc(&data, 512));
  });
  EXPECT_EQ(with_rules("ecc",
                       [&](CUfunction spin) {
                         CU_OK(launch(spin));
                         CU_IS(CUDA_ERROR_ECC_UNCORRECTABLE, cuCtxSynchronize());
                         failed.raise();
                       }),
            0);
  EXPECT_EQ(other.wait(), 0);
}

TEST(FaultEnvironment, AMisspeltRuleEndsCuInit) {
  EXPECT_EQ(Child::checking([] {
              setenv("SIMGPU_FAULT", "lunch@1", 1);
              CU_IS(CUDA_ERROR_NO_DEVICE, cuInit(0));
            }).wait(),
            0);
}

}  // namespace
}  // namespace gacer::simdriver
