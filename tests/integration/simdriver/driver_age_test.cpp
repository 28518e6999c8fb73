// SPDX-License-Identifier: Apache-2.0
// Faults on request that live in the driver: an older version, missing symbols.
#include <cstdlib>

#include "tests/integration/simdriver/child.h"
#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

CUdriverProcAddressQueryResult look_up(const char* name, int version, void** out) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(CUDA_SUCCESS, cuGetProcAddress(name, out, version, 0, &status)) << name;
  EXPECT_EQ(*out != nullptr, status == CU_GET_PROC_ADDRESS_SUCCESS) << name;
  return status;
}

TEST(DriverAge, given_an_older_version_then_newer_functions_are_not_known) {
  Child child = Child::checking([] {
    setenv("SIMGPU_DRIVER_VERSION", "12040", 1);
    int version = 0;
    void* address = nullptr;
    CU_OK(cuDriverGetVersion(&version));
    EXPECT_EQ(version, 12040);
    EXPECT_EQ(look_up("cuGreenCtxCreate", 12040, &address), CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT_EQ(look_up("cuMemcpyBatchAsync", 12040, &address), CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT_EQ(look_up("cuCtxCreate", 12040, &address), CU_GET_PROC_ADDRESS_SUCCESS);
    CUdriverProcAddressQueryResult status{};
    CU_IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuCtxCreate", &address, 13000, 0, &status));
    CU_OK(cuInit(0));  // what is there works
    CUcontext context = nullptr;
    CU_OK(cuCtxCreate(&context, nullptr, 0, 0));
    CU_OK(cuCtxSynchronize());
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(DriverAge, given_hidden_symbols_then_only_they_are_not_found) {
  Child child = Child::checking([] {
    setenv("SIMGPU_HIDE_SYMBOLS", "cuLaunchKernelEx,cuMemAlloc_v2", 1);
    void* address = nullptr;
    EXPECT_EQ(look_up("cuLaunchKernelEx", 12000, &address), CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT_EQ(look_up("cuLaunchKernel", 12000, &address), CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT_EQ(look_up("cuMemAlloc", 12000, &address), CU_GET_PROC_ADDRESS_SUCCESS);  // the old form
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(DriverAge, given_a_version_that_never_was_then_it_is_ignored) {
  Child child = Child::checking([] {
    setenv("SIMGPU_DRIVER_VERSION", "99", 1);
    int version = 0;
    CU_OK(cuDriverGetVersion(&version));
    EXPECT_EQ(version, 13000);
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace gacer::simdriver
