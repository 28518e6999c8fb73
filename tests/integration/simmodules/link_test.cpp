// SPDX-License-Identifier: Apache-2.0
// cuLink*: parts of a program that nvcc compiled apart.
#include <gmock/gmock.h>

#include "tests/integration/simdriver/sim_fixture.h"
#include "tests/integration/simmodules/image_file.h"

namespace gacer::simdriver {
namespace {

using testing::HasSubstr;

class LinkTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    values_[0] = errors_;
    values_[1] = reinterpret_cast<void*>(sizeof errors_);
    values_[2] = info_;
    values_[3] = reinterpret_cast<void*>(sizeof info_);
    CU_OK(cuLinkCreate(4, options, values_, &link_));
  }
  CUresult add_file(CUjitInputType type, const std::string& name) {
    return cuLinkAddFile(link_, type, image_path(name).c_str(), 0, nullptr, nullptr);
  }
  CUresult add_text(const std::string& text, const char* name) {
    return cuLinkAddData(link_, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()), text.size() + 1,
                         name, 0, nullptr, nullptr);
  }
  CUresult complete() {
    void* image = nullptr;
    size_t bytes = 0;
    const CUresult result = cuLinkComplete(link_, &image, &bytes);
    if (result != CUDA_SUCCESS) return result;
    // A copy, as programs make one before they destroy the state.
    const std::string copy(static_cast<const char*>(image), bytes);
    EXPECT_EQ(CUDA_SUCCESS, cuLinkDestroy(link_));
    return cuModuleLoadData(&linked_, copy.data());
  }
  void expect_parts_work() {
    ASSERT_EQ(CUDA_SUCCESS, complete()) << errors_;
    CUfunction use = nullptr;
    CU_OK(cuModuleGetFunction(&use, linked_, "use"));
    float values[] = {1, 2, 3, 4};
    int n = 4;
    CUdeviceptr data = 0;
    CU_OK(cuMemAlloc(&data, sizeof values));
    CU_OK(cuMemcpyHtoD(data, values, sizeof values));
    void* params[] = {&data, &n};
    CU_OK(cuLaunchKernel(use, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
    CU_OK(cuMemcpyDtoH(values, data, sizeof values));
    EXPECT_THAT(values, testing::ElementsAre(3, 5, 7, 9));
    CUdeviceptr counted = 0;
    size_t bytes = 0;
    CU_OK(cuModuleGetGlobal(&counted, &bytes, linked_, "counted"));
    EXPECT_THAT(read_ints(counted, 1), testing::ElementsAre(104));
    CU_OK(cuModuleGetFunction(&use, linked_, "use_pointer"));
    CU_OK(cuLaunchKernel(use, 1, 1, 1, 4, 1, 1, 0, nullptr, params, nullptr));
    CU_OK(cuMemcpyDtoH(values, data, sizeof values));
    EXPECT_THAT(values, testing::ElementsAre(6, 10, 14, 18));
  }

  CUlinkState link_ = nullptr;
  CUmodule linked_ = nullptr;
  char errors_[2048] = "";
  char info_[2048] = "";
  void* values_[4] = {};
};

TEST_F(LinkTest, PtxOfTwoParts) {
  CU_OK(add_text(image_file("parts_main.ptx"), "main"));
  CU_OK(add_text(image_file("parts_other.ptx"), "other"));
  expect_parts_work();
}

TEST_F(LinkTest, PtxFilesObjectsFatBinariesAndArchivesMix) {
  CU_OK(add_file(CU_JIT_INPUT_OBJECT, "parts_main.o"));
  CU_OK(add_file(CU_JIT_INPUT_LIBRARY, "libparts.a"));
  expect_parts_work();
}

TEST_F(LinkTest, AFatBinaryOfRelocatableCode) {
  CU_OK(add_file(CU_JIT_INPUT_PTX, "parts_main.ptx"));
  CU_OK(add_file(CU_JIT_INPUT_FATBINARY, "parts_other.fatbin"));
  expect_parts_work();
}

TEST_F(LinkTest, TheDeviceRuntimeMayBeAmongTheInputs) {
  CU_OK(add_text(image_file("parts_main.ptx"), "main"));
  CU_OK(cuLinkAddFile(link_, CU_JIT_INPUT_LIBRARY, CUDEVRT, 0, nullptr, nullptr));
  CU_OK(add_file(CU_JIT_INPUT_OBJECT, "parts_other.o"));
  expect_parts_work();
}

// What that library answers as machine code, the device answers by itself.
TEST_F(LinkTest, GridBarriersOfTheDeviceRuntime) {
  CU_OK(add_text(R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry together(.param .u64 errors) {
  .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [errors]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3;
  { .param .b32 p0; .param .b64 q0; st.param.b32 [p0], 1;
    call.uni (q0), cudaCGGetIntrinsicHandle, (p0); ld.param.b64 %rd2, [q0]; }
  { .param .b64 p0; .param .b32 p1; .param .b32 q0; st.param.b64 [p0], %rd2; st.param.b32 [p1], 0;
    call.uni (q0), cudaCGSynchronize, (p0, p1); ld.param.b32 %r2, [q0]; }
  st.global.u32 [%rd1], %r2;
  ret;
})",
                 "grid"));
  CU_OK(cuLinkAddFile(link_, CU_JIT_INPUT_LIBRARY, CUDEVRT, 0, nullptr, nullptr));
  ASSERT_EQ(CUDA_SUCCESS, complete()) << errors_;
  CUfunction together = nullptr;
  CU_OK(cuModuleGetFunction(&together, linked_, "together"));
  CUdeviceptr errors = 0;
  CU_OK(cuMemAlloc(&errors, 8));
  CU_OK(cuMemsetD32(errors, 99, 2));
  void* params[] = {&errors};
  CU_OK(cuLaunchCooperativeKernel(together, 2, 1, 1, 32, 1, 1, 0, nullptr, params));
  EXPECT_THAT(read_ints(errors, 2), testing::ElementsAre(0, 0));
}

TEST_F(LinkTest, UndefinedNamesAreInTheErrorLog) {
  CU_OK(add_text(image_file("parts_main.ptx"), "main.ptx"));
  EXPECT_NE(CUDA_SUCCESS, complete());
  EXPECT_THAT(errors_, HasSubstr("Undefined reference to 'counted' in 'main.ptx'"));
  EXPECT_THAT(errors_, HasSubstr("_Z6scaledf"));
}

TEST_F(LinkTest, DuplicatesAreInTheErrorLog) {
  CU_OK(add_text(image_file("parts_other.ptx"), "one"));
  CU_OK(add_text(image_file("parts_other.ptx"), "two"));
  EXPECT_NE(CUDA_SUCCESS, complete());
  EXPECT_THAT(errors_, HasSubstr("Multiple definition of '_Z6scaledf' in 'two'"));
}

TEST_F(LinkTest, BrokenPtxIsRefusedWhenItIsAddedWithItsLine) {
  CU_IS(CUDA_ERROR_INVALID_PTX,
        add_text(".version 8.0\n.target sm_80\n.address_size 64\n.entry k( {\n", "broken"));
  EXPECT_THAT(errors_, HasSubstr("line 4"));
  EXPECT_THAT(errors_, HasSubstr("broken"));
}

TEST_F(LinkTest, WhatNoLinkerHereCanDoIsSaid) {
  CU_IS(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, add_file(CU_JIT_INPUT_OBJECT, "parts_lto.o"));
  EXPECT_THAT(errors_, HasSubstr("LTO-IR"));
  CU_OK(add_file(CU_JIT_INPUT_CUBIN, "parts_main.cubin"));
  CU_OK(add_file(CU_JIT_INPUT_CUBIN, "machine.cubin"));
  CU_IS(CUDA_ERROR_NOT_SUPPORTED, complete());
  EXPECT_THAT(errors_, HasSubstr("links PTX only"));
}

TEST_F(LinkTest, OneCubinComesOutAsItIs) {
  CU_OK(add_file(CU_JIT_INPUT_CUBIN, "machine.cubin"));
  CU_OK(complete());
  CUfunction f = nullptr;
  CU_OK(cuModuleGetFunction(&f, linked_, "add_all"));
}

TEST_F(LinkTest, WrongArgumentsAndHandles) {
  CU_IS(CUDA_ERROR_FILE_NOT_FOUND, add_file(CU_JIT_INPUT_PTX, "nothing.ptx"));
  CU_IS(CUDA_ERROR_INVALID_VALUE,
        cuLinkAddData(link_, CU_JIT_INPUT_PTX, nullptr, 4, "x", 0, nullptr, nullptr));
  CU_IS(CUDA_ERROR_INVALID_IMAGE, add_file(CU_JIT_INPUT_LIBRARY, "parts_main.o"));
  CU_IS(CUDA_ERROR_INVALID_IMAGE, complete());  // nothing was added
  CU_OK(cuLinkDestroy(link_));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(link_));
  CU_IS(CUDA_ERROR_INVALID_HANDLE, add_file(CU_JIT_INPUT_PTX, "parts_main.ptx"));
}

}  // namespace
}  // namespace gacer::simdriver
