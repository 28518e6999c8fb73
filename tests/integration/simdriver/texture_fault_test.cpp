// SPDX-License-Identifier: Apache-2.0
// Wrong handles and coordinates end the context; each in a process of its own.
#include <string>

#include "tests/integration/simdriver/child.h"
#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

std::string kernel_of(const std::string& body) {
  return ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 handle) {\n"
         "  .reg .b64 h;\n  .reg .b32 r, x, y;\n  .reg .f32 f, d<4>;\n  ld.param.u64 h, [handle];\n"
         "  mov.f32 f, 0f00000000;\n  mov.u32 x, 0;\n  mov.u32 y, 4;\n  " +
         body + "\n  ret;\n}\n";
}

// What a launch with this handle ends in.
CUresult outcome(const std::string& body, bool with_surface) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGet(&device, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxCreate(&context, nullptr, 0, device), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleLoadData(&module, kernel_of(body).c_str()), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
  unsigned long long handle = 99;
  if (with_surface) {
    const CUDA_ARRAY3D_DESCRIPTOR d{4, 4, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC from{};
    from.resType = CU_RESOURCE_TYPE_ARRAY;
    EXPECT_EQ(cuArray3DCreate(&from.res.array.hArray, &d), CUDA_SUCCESS);
    EXPECT_EQ(cuSurfObjectCreate(&handle, &from), CUDA_SUCCESS);
  }
  void* params[] = {&handle};
  EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), CUDA_SUCCESS);
  return cuCtxSynchronize();
}

TEST(TextureFaults, given_a_handle_that_is_none_then_the_launch_is_an_illegal_access) {
  EXPECT_EQ(Child::checking([] {
              EXPECT_EQ(outcome("tex.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f, f}];", false),
                        CUDA_ERROR_ILLEGAL_ADDRESS);
            }).wait(),
            0);
}

TEST(TextureFaults, given_coordinates_outside_a_surface_then_its_mode_decides) {
  EXPECT_EQ(Child::checking([] {
              EXPECT_EQ(outcome("suld.b.2d.b32.trap {r}, [h, {x, y}];", true),
                        CUDA_ERROR_ILLEGAL_ADDRESS);
            }).wait(),
            0);
  EXPECT_EQ(Child::checking([] {
              EXPECT_EQ(outcome("suld.b.2d.b32.zero {r}, [h, {x, y}];", true), CUDA_SUCCESS);
            }).wait(),
            0);
}

}  // namespace
}  // namespace gacer::simdriver
