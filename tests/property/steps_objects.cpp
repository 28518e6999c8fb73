// SPDX-License-Identifier: Apache-2.0
// Steps that make, use up and ask about objects: contexts, streams, events, memory, modules; and
// what happens beside the calls.
#include <cstring>

#include "tests/property/world.h"

namespace gacer::property {
namespace {

template <typename T>
uint64_t value(T handle) {
  return reinterpret_cast<uint64_t>(handle);
}

void advance_device(World& w, const Step& step) {
  const std::lock_guard guard(w.model.mutex);
  for (uint32_t i = 0; i <= step.a[0] % 3; ++i) w.saw(w.model.step() ? 1 : 0);
}
void daemon_decides(World& w, const Step& step) {
  if (w.shim != nullptr) w.shim->decide(step.a);
}

void init(World& w, const Step& step) {
  GACER_CALL(cuInit, step.a[0] % 8 == 0 ? 1 : 0);
}
void primary_retain(World& w, const Step& step) {
  CUcontext& context = w.v.contexts[2];
  GACER_CALL(cuDevicePrimaryCtxRetain, &context, step.a[0] % 16 == 0 ? 3 : 0);
  w.saw(value(context));
}
void primary_release(World& w, const Step& step) {
  GACER_CALL(cuDevicePrimaryCtxRelease_v2, step.a[0] % 16 == 0 ? 3 : 0);
}
void primary_reset(World& w, const Step& step) {
  GACER_CALL(cuDevicePrimaryCtxReset_v2, 0);
}
void primary_state(World& w, const Step& step) {
  unsigned flags = 9;
  int active = 9;
  GACER_CALL(cuDevicePrimaryCtxGetState, 0, &flags, step.a[0] % 16 == 0 ? nullptr : &active);
  w.saw(flags);
  w.saw(static_cast<uint64_t>(active));
}
void context_create(World& w, const Step& step) {
  CUcontext& context = w.v.contexts[step.a[0] % 2];
  GACER_CALL(cuCtxCreate_v2, &context, 0, step.a[1] % 16 == 0 ? 3 : 0);
  w.saw(value(context));
}
void context_destroy(World& w, const Step& step) {
  GACER_CALL(cuCtxDestroy_v2, w.v.contexts[step.a[0] % 3]);
}
void context_set(World& w, const Step& step) {
  const bool none = step.a[0] % 8 == 7;
  GACER_CALL(cuCtxSetCurrent, none ? nullptr : w.v.contexts[step.a[0] % 3]);
}
void context_push(World& w, const Step& step) {
  GACER_CALL(cuCtxPushCurrent_v2, w.v.contexts[step.a[0] % 3]);
}
void context_pop(World& w, const Step& step) {
  CUcontext context = nullptr;
  GACER_CALL(cuCtxPopCurrent_v2, &context);
  w.saw(value(context));
}
void context_current(World& w, const Step& step) {
  CUcontext context = nullptr;
  GACER_CALL(cuCtxGetCurrent, &context);
  w.saw(value(context));
}

void stream_create(World& w, const Step& step) {
  CUstream& stream = w.v.streams[step.a[0] % 5];
  GACER_CALL(cuStreamCreate, step.a[2] % 32 == 0 ? nullptr : &stream, step.a[1] % 2);
  w.saw(value(stream));
}
void stream_create_priority(World& w, const Step& step) {
  CUstream& stream = w.v.streams[step.a[0] % 5];
  GACER_CALL(cuStreamCreateWithPriority, &stream, step.a[1] % 2,
             static_cast<int>(step.a[2] % 5) - 4);
  w.saw(value(stream));
}
void stream_destroy(World& w, const Step& step) {
  GACER_CALL(cuStreamDestroy_v2, w.v.streams[step.a[0] % 5]);
  w.gone(w.v.streams[step.a[0] % 5]);
}
void stream_flags(World& w, const Step& step) {
  unsigned flags = 9;
  GACER_CALL_PTSZ(cuStreamGetFlags, w.stream(step.a[0]), &flags);
  w.saw(flags);
}
void event_create(World& w, const Step& step) {
  CUevent& event = w.v.events[step.a[0] % 4];
  GACER_CALL(cuEventCreate, &event, step.a[1] % 2 == 0 ? 0 : CU_EVENT_DISABLE_TIMING);
  w.saw(value(event));
}
void event_destroy(World& w, const Step& step) {
  GACER_CALL(cuEventDestroy_v2, w.v.events[step.a[0] % 4]);
  w.gone(w.v.events[step.a[0] % 4]);
}

void alloc(World& w, const Step& step) {
  CUdeviceptr& pointer = w.v.pointers[step.a[0] % 6];
  const size_t bytes = step.a[1] % 32 == 0 ? 0 : step.a[1] % 16 == 1 ? 1 << 20 : 128;
  GACER_CALL(cuMemAlloc_v2, step.a[2] % 32 == 0 ? nullptr : &pointer, bytes);
  w.saw(pointer);
}
void alloc_pitch(World& w, const Step& step) {
  CUdeviceptr& pointer = w.v.pointers[step.a[0] % 6];
  size_t pitch = 9;
  GACER_CALL(cuMemAllocPitch_v2, &pointer, step.a[2] % 32 == 0 ? nullptr : &pitch, step.a[1] % 100,
             1 + step.a[1] / 128 % 3, step.a[3] % 8 == 0 ? 3 : 4);
  w.saw(pointer);
  w.saw(pitch);
}
void alloc_managed(World& w, const Step& step) {
  CUdeviceptr& pointer = w.v.pointers[step.a[0] % 6];
  GACER_CALL(cuMemAllocManaged, &pointer, 96, step.a[1] % 8 == 0 ? 77 : CU_MEM_ATTACH_GLOBAL);
  w.saw(pointer);
}
void alloc_async(World& w, const Step& step) {
  CUdeviceptr& pointer = w.v.pointers[step.a[0] % 6];
  GACER_CALL_PTSZ(cuMemAllocAsync, &pointer, step.a[1] % 16 == 0 ? 2 << 20 : 128,
                  w.stream(step.a[2]));
  w.saw(pointer);
}
void alloc_from_pool(World& w, const Step& step) {
  CUdeviceptr& pointer = w.v.pointers[step.a[0] % 6];
  GACER_CALL_PTSZ(cuMemAllocFromPoolAsync, &pointer, 64, w.v.pools[step.a[1] % 2],
                  w.stream(step.a[2]));
  w.saw(pointer);
}
void free_now(World& w, const Step& step) {
  const bool foreign = step.a[1] % 16 == 0;
  GACER_CALL(cuMemFree_v2, foreign ? 0x1234'5000 : w.v.pointers[step.a[0] % 6]);
}
void free_async(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuMemFreeAsync, w.v.pointers[step.a[0] % 6], w.stream(step.a[1]));
}
void memory_info(World& w, const Step& step) {
  size_t free_bytes = 9;
  size_t total_bytes = 9;
  GACER_CALL(cuMemGetInfo_v2, step.a[0] % 8 == 0 ? nullptr : &free_bytes,
             step.a[0] % 8 == 1 ? nullptr : &total_bytes);
  w.saw(free_bytes);
  w.saw(total_bytes);
}
void total_memory(World& w, const Step& step) {
  size_t bytes = 9;
  GACER_CALL(cuDeviceTotalMem_v2, &bytes, step.a[0] % 8 == 0 ? 3 : 0);
  w.saw(bytes);
}
void pool_create(World& w, const Step& step) {
  CUmemoryPool& pool = w.v.pools[step.a[0] % 2];
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (step.a[1] % 4 == 0)
    GACER_CALL(cuDeviceGetDefaultMemPool, &pool, 0);
  else
    GACER_CALL(cuMemPoolCreate, &pool, &properties);
  w.saw(value(pool));
}
void pool_destroy(World& w, const Step& step) {
  GACER_CALL(cuMemPoolDestroy, w.v.pools[step.a[0] % 2]);
}
void vmm_create(World& w, const Step& step) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type =
      step.a[1] % 4 == 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  GACER_CALL(cuMemCreate, &w.v.physical[step.a[0] % 2], step.a[2] % 8 == 0 ? 100 : 4096,
             &properties, 0);
  w.saw(w.v.physical[step.a[0] % 2]);
}
void vmm_release(World& w, const Step& step) {
  GACER_CALL(cuMemRelease, w.v.physical[step.a[0] % 2]);
}
void vmm_reserve(World& w, const Step& step) {
  GACER_CALL(cuMemAddressReserve, &w.v.ranges[step.a[0] % 2], 4096, 0, 0, 0);
  w.saw(w.v.ranges[step.a[0] % 2]);
}
void vmm_address_free(World& w, const Step& step) {
  GACER_CALL(cuMemAddressFree, w.v.ranges[step.a[0] % 2], 4096);
}
void vmm_map(World& w, const Step& step) {
  const CUdeviceptr range = w.v.ranges[step.a[0] % 2];
  if (GACER_CALL(cuMemMap, range, 4096, 0, w.v.physical[step.a[1] % 2], 0) == CUDA_SUCCESS)
    w.v.pointers[step.a[2] % 6] = range;
}
void vmm_unmap(World& w, const Step& step) {
  GACER_CALL(cuMemUnmap, w.v.ranges[step.a[0] % 2], 4096);
}
void host_register(World& w, const Step& step) {
  GACER_CALL(cuMemHostRegister_v2, w.host(step.a[0] % 4), 64, 0);
}
void host_unregister(World& w, const Step& step) {
  GACER_CALL(cuMemHostUnregister, w.host(step.a[0] % 4));
}

constexpr const char* kImages[] = {".version 8.0", ".version 8.1", "garbage"};
constexpr const char* kNames[] = {"add", "fold", "ncclKernel", "plus", "missing"};

void module_load(World& w, const Step& step) {
  CUmodule& module = w.v.modules[step.a[0] % 2];
  const char* image = kImages[step.a[1] % 8 == 0 ? 2 : step.a[1] % 2];
  if (step.a[2] % 2 == 0)
    GACER_CALL(cuModuleLoadData, &module, image);
  else
    GACER_CALL(cuModuleLoadDataEx, &module, image, 0, nullptr, nullptr);
  w.saw(value(module));
}
void module_unload(World& w, const Step& step) {
  GACER_CALL(cuModuleUnload, w.v.modules[step.a[0] % 2]);
}
void module_function(World& w, const Step& step) {
  CUfunction& function = w.v.functions[step.a[0] % 4];
  GACER_CALL(cuModuleGetFunction, &function, w.v.modules[step.a[1] % 2], kNames[step.a[2] % 5]);
  w.saw(value(function));
}
void module_enumerate(World& w, const Step& step) {
  GACER_CALL(cuModuleEnumerateFunctions, w.v.functions, step.a[0] % 4, w.v.modules[step.a[1] % 2]);
  for (const CUfunction function : w.v.functions) w.saw(value(function));
}
void library_load(World& w, const Step& step) {
  CUlibrary& library = w.v.libraries[step.a[0] % 2];
  GACER_CALL(cuLibraryLoadData, &library, kImages[step.a[1] % 8 == 0 ? 2 : step.a[1] % 2], nullptr,
             nullptr, 0, nullptr, nullptr, 0);
  w.saw(value(library));
}
void library_unload(World& w, const Step& step) {
  GACER_CALL(cuLibraryUnload, w.v.libraries[step.a[0] % 2]);
}
void library_kernel(World& w, const Step& step) {
  CUkernel& kernel = w.v.kernels[step.a[0] % 3];
  GACER_CALL(cuLibraryGetKernel, &kernel, w.v.libraries[step.a[1] % 2], kNames[step.a[2] % 5]);
  w.saw(value(kernel));
}
void library_module(World& w, const Step& step) {
  CUmodule& module = w.v.modules[step.a[0] % 2];
  GACER_CALL(cuLibraryGetModule, &module, w.v.libraries[step.a[1] % 2]);
  w.saw(value(module));
}
void library_enumerate(World& w, const Step& step) {
  GACER_CALL(cuLibraryEnumerateKernels, w.v.kernels, step.a[0] % 3, w.v.libraries[step.a[1] % 2]);
  for (const CUkernel kernel : w.v.kernels) w.saw(value(kernel));
}
void kernel_function(World& w, const Step& step) {
  CUfunction& function = w.v.functions[step.a[0] % 4];
  GACER_CALL(cuKernelGetFunction, &function, w.v.kernels[step.a[1] % 3]);
  w.saw(value(function));
}
void function_attribute(World& w, const Step& step) {
  int number = 9;
  GACER_CALL(cuFuncGetAttribute, &number, CU_FUNC_ATTRIBUTE_NUM_REGS, w.function(step.a[0]));
  w.saw(static_cast<uint64_t>(number));
}

}  // namespace

std::vector<StepKind> object_steps() {
  return {
      {"(device)", 60, false, &advance_device},
      {"(daemon)", 40, false, &daemon_decides},
      {"cuInit", 2, false, &init},
      {"cuDevicePrimaryCtxRetain", 4, false, &primary_retain},
      {"cuDevicePrimaryCtxRelease", 3, false, &primary_release},
      {"cuDevicePrimaryCtxReset", 1, false, &primary_reset},
      {"cuDevicePrimaryCtxGetState", 1, false, &primary_state},
      {"cuCtxCreate", 4, false, &context_create},
      {"cuCtxDestroy", 3, false, &context_destroy},
      {"cuCtxSetCurrent", 8, false, &context_set},
      {"cuCtxPushCurrent", 3, false, &context_push},
      {"cuCtxPopCurrent", 3, false, &context_pop},
      {"cuCtxGetCurrent", 2, false, &context_current},
      {"cuStreamCreate", 16, true, &stream_create},
      {"cuStreamCreateWithPriority", 8, true, &stream_create_priority},
      {"cuStreamDestroy", 10, true, &stream_destroy},
      {"cuStreamGetFlags", 2, true, &stream_flags},
      {"cuEventCreate", 8, true, &event_create},
      {"cuEventDestroy", 4, true, &event_destroy},
      {"cuMemAlloc", 12, true, &alloc},
      {"cuMemAllocPitch", 4, true, &alloc_pitch},
      {"cuMemAllocManaged", 3, true, &alloc_managed},
      {"cuMemAllocAsync", 8, true, &alloc_async},
      {"cuMemAllocFromPoolAsync", 4, true, &alloc_from_pool},
      {"cuMemFree", 8, true, &free_now},
      {"cuMemFreeAsync", 6, true, &free_async},
      {"cuMemGetInfo", 4, false, &memory_info},
      {"cuDeviceTotalMem", 2, false, &total_memory},
      {"cuMemPoolCreate", 3, false, &pool_create},
      {"cuMemPoolDestroy", 2, false, &pool_destroy},
      {"cuMemCreate", 4, false, &vmm_create},
      {"cuMemRelease", 3, false, &vmm_release},
      {"cuMemAddressReserve", 3, false, &vmm_reserve},
      {"cuMemAddressFree", 2, false, &vmm_address_free},
      {"cuMemMap", 4, false, &vmm_map},
      {"cuMemUnmap", 3, false, &vmm_unmap},
      {"cuMemHostRegister", 2, false, &host_register},
      {"cuMemHostUnregister", 2, false, &host_unregister},
      {"cuModuleLoadData", 6, true, &module_load},
      {"cuModuleUnload", 2, false, &module_unload},
      {"cuModuleGetFunction", 12, true, &module_function},
      {"cuModuleEnumerateFunctions", 2, true, &module_enumerate},
      {"cuLibraryLoadData", 4, true, &library_load},
      {"cuLibraryUnload", 2, false, &library_unload},
      {"cuLibraryGetKernel", 6, true, &library_kernel},
      {"cuLibraryGetModule", 3, true, &library_module},
      {"cuLibraryEnumerateKernels", 2, true, &library_enumerate},
      {"cuKernelGetFunction", 4, true, &kernel_function},
      {"cuFuncGetAttribute", 2, true, &function_attribute},
  };
}

}  // namespace gacer::property
