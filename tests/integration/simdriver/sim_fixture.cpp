// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/simdriver/sim_fixture.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace gacer::simdriver {
namespace {

std::string folder;

}  // namespace

void enter_sim_folder() {
  char name[] = "/tmp/simdriver-test-XXXXXX";
  folder = mkdtemp(name);
  setenv("SIMGPU_DIR", folder.c_str(), 1);
  setenv("SIMGPU_SERVER", SIMGPU_SERVER_PATH, 1);
  setenv("SIMGPU_DEVICE", "A100", 1);
  setenv("CUDA_MPS_PIPE_DIRECTORY", folder.c_str(), 1);
  for (const char* name_to_clear : {"SIMGPU_EXEC", "SIMGPU_TIME_SCALE", "SIMGPU_TIMELINE",
                                    "CUDA_VISIBLE_DEVICES", "SIMGPU_DEVICES", "SIMGPU_CONTEXT_MEM",
                                    "SIMGPU_MODULE_MEM", "SIMGPU_OOM_AT", "SIMGPU_POOL_BLOCK"})
    unsetenv(name_to_clear);
}

void leave_sim_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

const char* name_of(CUresult result) {
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  return name == nullptr ? "no CUresult" : name;
}

const char* const kTestPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .b32 counter = 41;

.visible .entry add_one(.param .u64 data, .param .u32 n)
{
  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p bra DONE;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
  add.s32 %r7, %r6, 1;
  st.global.u32 [%rd3], %r7;
DONE:
  ret;
}

.visible .entry spin(.param .u32 turns)
{
  .reg .pred %p; .reg .b32 %r<3>;
  ld.param.u32 %r1, [turns];
  mov.u32 %r2, 0;
LOOP:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p, %r2, %r1;
  @%p bra LOOP;
  ret;
}

.visible .entry write_beyond(.param .u64 data)
{
  .reg .b64 %rd<3>; .reg .b32 %r1;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, 7;
  add.s64 %rd2, %rd1, 1073741824;
  st.global.u32 [%rd2], %r1;
  ret;
}

.visible .entry store_mixed(.param .u64 out, .param .u8 small, .param .u64 large, .param .f32 real)
{
  .reg .b64 %rd<3>; .reg .b32 %r1; .reg .f32 %f1; .reg .b16 %h1;
  ld.param.u64 %rd1, [out];
  ld.param.u8 %h1, [small];
  cvt.u32.u16 %r1, %h1;
  ld.param.u64 %rd2, [large];
  ld.param.f32 %f1, [real];
  st.global.u32 [%rd1], %r1;
  st.global.u64 [%rd1+8], %rd2;
  st.global.f32 [%rd1+16], %f1;
  ret;
}
)";

void DeviceTest::SetUp() {
  CU_OK(cuInit(0));
  CUdevice device = 0;
  CU_OK(cuDeviceGet(&device, 0));
  CU_OK(cuCtxCreate(&context_, nullptr, 0, device));
  CU_OK(cuModuleLoadData(&module_, kTestPtx));
}

void DeviceTest::TearDown() {
  if (context_ != nullptr) cuCtxDestroy(context_);
}

CUfunction DeviceTest::function(const char* name) {
  CUfunction found = nullptr;
  EXPECT_EQ(CUDA_SUCCESS, cuModuleGetFunction(&found, module_, name)) << name;
  return found;
}

CUdeviceptr DeviceTest::allocate_ints(const std::vector<int>& values) {
  CUdeviceptr address = 0;
  EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&address, values.size() * sizeof(int)));
  EXPECT_EQ(CUDA_SUCCESS, cuMemcpyHtoD(address, values.data(), values.size() * sizeof(int)));
  return address;
}

std::vector<int> DeviceTest::read_ints(CUdeviceptr from, size_t count) {
  std::vector<int> values(count);
  EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(values.data(), from, count * sizeof(int)));
  return values;
}

CUresult DeviceTest::add_one(CUdeviceptr data, unsigned n, CUstream stream) {
  void* params[] = {&data, &n};
  return cuLaunchKernel(function("add_one"), (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream, params,
                        nullptr);
}

CUresult DeviceTest::spin(unsigned iterations, CUstream stream) {
  void* params[] = {&iterations};
  return cuLaunchKernel(function("spin"), 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr);
}

}  // namespace gacer::simdriver

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gacer::simdriver::enter_sim_folder();
  const int result = RUN_ALL_TESTS();
  gacer::simdriver::leave_sim_folder();
  return result;
}
