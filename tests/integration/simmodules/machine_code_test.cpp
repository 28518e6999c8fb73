// SPDX-License-Identifier: Apache-2.0
// Images without PTX: everything but their results.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/integration/simdriver/sim_fixture.h"
#include "tests/integration/simmodules/image_file.h"

namespace gacer::simdriver {
namespace {

class MachineCodeTest : public DeviceTest {
 protected:
  void load(const std::string& name) {
    CU_OK(cuModuleLoad(&code_, image_path(name).c_str()));
    CU_OK(cuModuleGetFunction(&add_all_, code_, "add_all"));
  }
  CUresult launch(CUdeviceptr data, int n) {
    short step = 1;
    void* params[] = {&data, &step, &n};
    return cuLaunchKernel(add_all_, (n + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, params, nullptr);
  }
  int attribute(CUfunction_attribute which) {
    int value = -1;
    EXPECT_EQ(CUDA_SUCCESS, cuFuncGetAttribute(&value, which, add_all_));
    return value;
  }
  CUmodule code_ = nullptr;
  CUfunction add_all_ = nullptr;
};

TEST_F(MachineCodeTest, ACubinTellsKernelsParametersAndResources) {
  load("machine.cubin");
  size_t offset = 0, bytes = 0;
  CU_OK(cuFuncGetParamInfo(add_all_, 1, &offset, &bytes));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 2u);
  CU_OK(cuFuncGetParamInfo(add_all_, 2, &offset, &bytes));
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 512);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 128);
  EXPECT_GE(attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), 8);
  CUfunction none = nullptr;
  CU_IS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, code_, "nothing"));
}

TEST_F(MachineCodeTest, ItsVariablesHaveTheirInitialBytes) {
  load("machine.cubin");
  CUdeviceptr word = 0, pointer = 0, factors = 0;
  size_t bytes = 0;
  CU_OK(cuModuleGetGlobal(&word, &bytes, code_, "word"));
  EXPECT_THAT(read_ints(word, 1), testing::ElementsAre(11));
  CU_OK(cuModuleGetGlobal(&factors, &bytes, code_, "factors"));
  EXPECT_EQ(bytes, 8u);
  CU_OK(cuModuleGetGlobal(&pointer, &bytes, code_, "to_word"));
  CUdeviceptr stored = 0;
  CU_OK(cuMemcpyDtoH(&stored, pointer, sizeof stored));
  EXPECT_EQ(stored, word);
}

TEST_F(MachineCodeTest, ALaunchTakesTimeAndComputesNothing) {
  load("machine.cubin");
  const CUdeviceptr data = allocate_ints(std::vector<int>(1 << 20, 3));
  CUevent begin = nullptr, end = nullptr;
  CU_OK(cuEventCreate(&begin, 0));
  CU_OK(cuEventCreate(&end, 0));
  CU_OK(cuEventRecord(begin, nullptr));
  CU_OK(launch(data, 1 << 20));
  CU_OK(cuEventRecord(end, nullptr));
  CU_OK(cuCtxSynchronize());
  float ms = 0;
  CU_OK(cuEventElapsedTime(&ms, begin, end));
  EXPECT_GT(ms, 0.002f);
  EXPECT_THAT(read_ints(data, 3), testing::ElementsAre(3, 3, 3));
}

TEST_F(MachineCodeTest, LaunchesAreCheckedAsOthersAre) {
  load("machine.cubin");
  CUdeviceptr data = allocate_ints({1});
  void* params[] = {&data, nullptr, nullptr};
  short step = 0;
  int n = 1;
  params[1] = &step;
  params[2] = &n;
  CU_IS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        cuLaunchKernel(add_all_, 1, 1, 1, 256, 1, 1, 0, nullptr, params, nullptr));
}

TEST_F(MachineCodeTest, AFatBinaryWithPtxTooComputes) {
  load("machine_both.fatbin");
  const CUdeviceptr data = allocate_ints({1, 2, 3});
  CU_OK(launch(data, 3));
  EXPECT_THAT(read_ints(data, 3), testing::ElementsAre(28, 29, 30));
}

TEST_F(MachineCodeTest, AFatBinaryWithoutPtxLoadsFromMemory) {
  const std::string image = image_file("machine_code.fatbin");
  CU_OK(cuModuleLoadData(&code_, image.data()));
  CU_OK(cuModuleGetFunction(&add_all_, code_, "add_all"));
  const std::string cubin = image_file("machine.cubin");
  CU_OK(cuModuleLoadData(&code_, cubin.data()));
  unsigned count = 0;
  CU_OK(cuModuleGetFunctionCount(&count, code_));
  EXPECT_EQ(count, 1u);
}

TEST_F(MachineCodeTest, CodeForAnotherDeviceIsNoBinaryForThisOne) {
  CU_IS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoad(&code_, image_path("machine_90.cubin").c_str()));
}

TEST_F(MachineCodeTest, AManagedVariableIsTheHostsToo) {
  load("machine_both.fatbin");
  CUdeviceptr managed = 0;
  size_t bytes = 0;
  CU_OK(cuModuleGetGlobal(&managed, &bytes, code_, "shared_with_host"));
  ASSERT_EQ(bytes, sizeof(int));
  volatile int* on_host = reinterpret_cast<int*>(managed);
  EXPECT_EQ(*on_host, 5);
  *on_host = 40;
  const CUdeviceptr data = allocate_ints({1});
  CU_OK(launch(data, 1));
  CU_OK(cuCtxSynchronize());
  EXPECT_EQ(*on_host, 41);
  unsigned is_managed = 0;
  CU_OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
  EXPECT_EQ(is_managed, 1u);
}

TEST_F(MachineCodeTest, ManagedMemoryGoesBackWithTheModule) {
  size_t before = 0, after = 0, total = 0;
  load("machine_both.fatbin");
  CU_OK(cuModuleUnload(code_));
  CU_OK(cuMemGetInfo(&before, &total));
  for (int i = 0; i < 20; ++i) {
    load("machine_both.fatbin");
    CU_OK(cuModuleUnload(code_));
  }
  CU_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(MachineCodeTest, JitOptionsAreHonoured) {
  char info[4096] = "";
  float ms = -1;
  CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_INFO_LOG_BUFFER,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_LOG_VERBOSE,
                            CU_JIT_WALL_TIME};
  void* values[] = {reinterpret_cast<void*>(16), info, reinterpret_cast<void*>(sizeof info),
                    reinterpret_cast<void*>(1), nullptr};
  const std::string image = image_file("machine_both.fatbin");
  CU_OK(cuModuleLoadDataEx(&code_, image.data(), 5, options, values));
  CU_OK(cuModuleGetFunction(&add_all_, code_, "add_all"));
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), 16);
  EXPECT_THAT(info, testing::HasSubstr("add_all"));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values[2]), strlen(info));
  memcpy(&ms, &values[4], sizeof ms);
  EXPECT_GE(ms, 0.0f);
}

// A kernel that has 120 values alive at once.
std::string crowded_kernel(const std::string& directives) {
  std::string loads, sums;
  for (int i = 0; i < 120; ++i) {
    const std::string n = std::to_string(i);
    loads += "ld.global.u32 %r" + n + ", [%rd1+" + std::to_string(4 * i) + "];\n";
    sums = "add.u32 %r200, %r200, %r" + n + ";\n" + sums;
  }
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry crowded(.param .u64 p)\n" +
         directives + "\n{\n.reg .b32 %r<201>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n" +
         loads + "mov.u32 %r200, 0;\n" + sums + "st.global.u32 [%rd1], %r200;\nret;\n}\n";
}

TEST_F(MachineCodeTest, LaunchBoundsCapTheRegistersOfPtx) {
  const auto registers = [&](const std::string& directives) {
    EXPECT_EQ(CUDA_SUCCESS, cuModuleLoadData(&code_, crowded_kernel(directives).c_str()));
    EXPECT_EQ(CUDA_SUCCESS, cuModuleGetFunction(&add_all_, code_, "crowded"));
    return attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  };
  EXPECT_GT(registers(""), 110);
  EXPECT_EQ(registers(".maxntid 256, 1, 1\n.minnctapersm 4"), 64);
  EXPECT_EQ(registers(".maxnreg 40"), 40);
}

TEST_F(MachineCodeTest, AnIsaOfALaterToolkitHasItsOwnError) {
  CU_IS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        cuModuleLoadData(&code_,
                         ".version 9.7\n.target sm_80\n.address_size 64\n"
                         ".visible .entry k() { frobnicate.b32 %r1; ret; }\n"));
  CU_IS(CUDA_ERROR_INVALID_PTX,
        cuModuleLoadData(&code_,
                         ".version 8.0\n.target sm_80\n.address_size 64\n"
                         ".visible .entry k() { frobnicate.b32 %r1; ret; }\n"));
}

}  // namespace
}  // namespace gacer::simdriver
