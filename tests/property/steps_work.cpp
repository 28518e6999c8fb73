// SPDX-License-Identifier: Apache-2.0
// Steps that give work to streams, order it and wait for it.
#include <cstring>

#include "tests/property/world.h"

namespace gacer::property {
namespace {

// Parameters that are gone when the call is over.
struct Parameters {
  Parameters(const World& w, const Step& step)
      : to(w.address(step.a[2])), bytes(1 + step.a[3] % 32), packed{to, bytes} {}
  ~Parameters() { to = bytes = packed[0] = packed[1] = 0xdead; }
  uint64_t to;
  uint64_t bytes;
  uint64_t packed[2];
  size_t packed_bytes = sizeof packed;
  void* list[2] = {&to, &bytes};
  void* extra[5] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                    &packed_bytes, CU_LAUNCH_PARAM_END};
};

unsigned grid_of(const Step& step) {
  return step.a[4] % 32 == 0 ? 0 : 1 + step.a[4] % 7 * 20;
}
unsigned block_of(const Step& step) {
  return step.a[4] / 32 % 32 == 0 ? 2000 : 128;
}

void launch(World& w, const Step& step) {
  Parameters p(w, step);
  const bool packed = step.a[4] / 1024 % 4 == 0;
  GACER_CALL_PTSZ(cuLaunchKernel, w.function(step.a[1]), grid_of(step), 1, 1, block_of(step), 1, 1,
                  0, w.stream(step.a[0]), packed ? nullptr : p.list, packed ? p.extra : nullptr);
}
void launch_ex(World& w, const Step& step) {
  Parameters p(w, step);
  CUlaunchAttribute attribute{};
  attribute.id =
      step.a[4] / 1024 % 2 == 0 ? CU_LAUNCH_ATTRIBUTE_COOPERATIVE : CU_LAUNCH_ATTRIBUTE_PRIORITY;
  if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) attribute.value.cooperative = 1;
  CUlaunchConfig config{};
  config.gridDimX = grid_of(step);
  config.blockDimX = block_of(step);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = w.stream(step.a[0]);
  config.attrs = &attribute;
  config.numAttrs = step.a[4] / 2048 % 2;
  const bool none = step.a[3] / 64 % 32 == 0;
  GACER_CALL_PTSZ(cuLaunchKernelEx, none ? nullptr : &config, w.function(step.a[1]), p.list,
                  nullptr);
}
void launch_cooperative(World& w, const Step& step) {
  Parameters p(w, step);
  GACER_CALL_PTSZ(cuLaunchCooperativeKernel, w.function(step.a[1]), grid_of(step), 1, 1,
                  block_of(step), 1, 1, 0, w.stream(step.a[0]), p.list);
}

void synchronize(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuStreamSynchronize, w.stream(step.a[0]));
}
void query(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuStreamQuery, w.stream(step.a[0]));
}
void context_synchronize(World& w, const Step& step) {
  GACER_CALL(cuCtxSynchronize);
}
void wait_event(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuStreamWaitEvent, w.stream(step.a[0]), w.v.events[step.a[1] % 4], 0);
}
void record_event(World& w, const Step& step) {
  if (step.a[2] % 4 == 0)
    GACER_CALL_PTSZ(cuEventRecordWithFlags, w.v.events[step.a[1] % 4], w.stream(step.a[0]), 0);
  else
    GACER_CALL_PTSZ(cuEventRecord, w.v.events[step.a[1] % 4], w.stream(step.a[0]));
}
void query_event(World& w, const Step& step) {
  GACER_CALL(cuEventQuery, w.v.events[step.a[0] % 4]);
}
void synchronize_event(World& w, const Step& step) {
  GACER_CALL(cuEventSynchronize, w.v.events[step.a[0] % 4]);
}
void CUDA_CB leave_a_byte(void* place) {
  auto* byte = static_cast<uint8_t*>(place);
  *byte = static_cast<uint8_t>(*byte * 31 + 5);
}
void host_function(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuLaunchHostFunc, w.stream(step.a[0]), &leave_a_byte, w.host(step.a[1]));
}
void write_value(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuStreamWriteValue64_v2, w.stream(step.a[0]), w.v.pointers[step.a[1] % 6],
                  step.a[2], 0);
}

void copy_to_device(World& w, const Step& step) {
  memset(w.host(step.a[1]), static_cast<int>(step.a[2] % 251), 32);
  GACER_CALL_PTDS(cuMemcpyHtoD_v2, w.address(step.a[0]), w.host(step.a[1]), 1 + step.a[3] % 32);
}
void copy_to_host(World& w, const Step& step) {
  GACER_CALL_PTDS(cuMemcpyDtoH_v2, w.host(step.a[1]), w.address(step.a[0]), 1 + step.a[3] % 32);
  uint64_t first = 0;
  memcpy(&first, w.host(step.a[1]), sizeof first);
  w.saw(first);
}
void copy_any(World& w, const Step& step) {
  GACER_CALL_PTDS(cuMemcpy, w.address(step.a[0]), w.address(step.a[1]), 1 + step.a[3] % 32);
}
void copy_any_async(World& w, const Step& step) {
  if (step.a[4] % 2 == 0)
    GACER_CALL_PTSZ(cuMemcpyAsync, w.address(step.a[0]), w.address(step.a[1]), 1 + step.a[3] % 32,
                    w.stream(step.a[2]));
  else
    GACER_CALL_PTSZ(cuMemcpyDtoDAsync_v2, w.address(step.a[0]), w.address(step.a[1]),
                    1 + step.a[3] % 32, w.stream(step.a[2]));
}
void copy_to_device_async(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuMemcpyHtoDAsync_v2, w.address(step.a[0]), w.host(step.a[1]), 1 + step.a[3] % 32,
                  w.stream(step.a[2]));
}
void copy_to_host_async(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuMemcpyDtoHAsync_v2, w.host(step.a[1]), w.address(step.a[0]), 1 + step.a[3] % 32,
                  w.stream(step.a[2]));
}
void copy_2d(World& w, const Step& step) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = w.v.pointers[step.a[0] % 6];
  copy.dstDevice = w.v.pointers[step.a[1] % 6];
  copy.srcPitch = copy.dstPitch = 32;
  copy.WidthInBytes = 1 + step.a[3] % 16;
  copy.Height = 1 + step.a[3] / 16 % 3;
  GACER_CALL_PTSZ(cuMemcpy2DAsync_v2, step.a[4] % 16 == 0 ? nullptr : &copy, w.stream(step.a[2]));
}
void set_now(World& w, const Step& step) {
  GACER_CALL_PTDS(cuMemsetD8_v2, w.address(step.a[0]), static_cast<uint8_t>(step.a[1]),
                  1 + step.a[3] % 32);
}
void set_async(World& w, const Step& step) {
  const CUdeviceptr to = w.address(step.a[0]);
  const CUstream stream = w.stream(step.a[2]);
  const size_t count = 1 + step.a[3] % 8;
  switch (step.a[4] % 4) {
    case 0:
      GACER_CALL_PTSZ(cuMemsetD8Async, to, static_cast<uint8_t>(step.a[1]), count, stream);
      return;
    case 1:
      GACER_CALL_PTSZ(cuMemsetD16Async, to, static_cast<uint16_t>(step.a[1]), count, stream);
      return;
    case 2:
      GACER_CALL_PTSZ(cuMemsetD32Async, to, step.a[1], count, stream);
      return;
    default:
      GACER_CALL_PTSZ(cuMemsetD2D8Async, to, 32, static_cast<uint8_t>(step.a[1]), count, 2, stream);
  }
}

}  // namespace

std::vector<StepKind> work_steps() {
  return {
      {"cuLaunchKernel", 80, true, &launch},
      {"cuLaunchKernelEx", 30, true, &launch_ex},
      {"cuLaunchCooperativeKernel", 6, true, &launch_cooperative},
      {"cuStreamSynchronize", 10, true, &synchronize},
      {"cuStreamQuery", 12, true, &query},
      {"cuCtxSynchronize", 4, true, &context_synchronize},
      {"cuStreamWaitEvent", 14, true, &wait_event},
      {"cuEventRecord", 14, true, &record_event},
      {"cuEventQuery", 8, true, &query_event},
      {"cuEventSynchronize", 4, true, &synchronize_event},
      {"cuLaunchHostFunc", 4, false, &host_function},
      {"cuStreamWriteValue64", 3, true, &write_value},
      {"cuMemcpyHtoD", 5, true, &copy_to_device},
      {"cuMemcpyDtoH", 8, true, &copy_to_host},
      {"cuMemcpy", 3, true, &copy_any},
      {"cuMemcpyAsync", 8, true, &copy_any_async},
      {"cuMemcpyHtoDAsync", 6, false, &copy_to_device_async},
      {"cuMemcpyDtoHAsync", 6, false, &copy_to_host_async},
      {"cuMemcpy2DAsync", 4, true, &copy_2d},
      {"cuMemsetD8", 2, true, &set_now},
      {"cuMemset*Async", 10, true, &set_async},
  };
}

}  // namespace gacer::property
