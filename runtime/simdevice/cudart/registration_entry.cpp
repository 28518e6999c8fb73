// SPDX-License-Identifier: Apache-2.0
// What nvcc's host code calls (crt/host_runtime.h, crt/device_functions.h).
#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>

#include <cstdio>

#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/fat_binary.h"
#include "runtime/simdevice/cudart/launch.h"
#include "runtime/simdevice/cudart/registry.h"
#include "runtime/simdevice/cudart/stub.h"
#include "runtime/simdevice/cudart/thread_state.h"

using namespace gacer::cudart;

namespace {

FatBinary* binary_of(void** handle) {
  return reinterpret_cast<FatBinary*>(handle);
}

}  // namespace

GACER_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(add_fat_binary(wrapper));
}
GACER_ALSO_12(__cudaRegisterFatBinary)

GACER_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
GACER_ALSO_12(__cudaRegisterFatBinaryEnd)

GACER_EXPORT void __cudaUnregisterFatBinary(void** handle) {
  remove_fat_binary(binary_of(handle));
}
GACER_ALSO_12(__cudaUnregisterFatBinary)

GACER_EXPORT void __cudaRegisterFunction(void** handle, const char* host_function, char*,
                                         const char* device_name, int, uint3*, uint3*, dim3*, dim3*,
                                         int*) {
  add_kernel(binary_of(handle), host_function, device_name);
}
GACER_ALSO_12(__cudaRegisterFunction)

GACER_EXPORT void __cudaRegisterVar(void** handle, char* host_variable, char*,
                                    const char* device_name, int, size_t bytes, int, int) {
  add_variable(binary_of(handle), host_variable, device_name, bytes);
}
GACER_ALSO_12(__cudaRegisterVar)

GACER_EXPORT void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*,
                                           const char* device_name, int, size_t bytes, int, int) {
  add_managed_variable(binary_of(handle), host_pointer, device_name, bytes);
}
GACER_ALSO_12(__cudaRegisterManagedVar)

// Called before the host first touches a managed variable. True: need not be called again.
GACER_EXPORT char __cudaInitModule(void** handle) {
  static constexpr ApiInfo kInfo{CUPTI_RUNTIME_TRACE_CBID___cudaInitModule_v13000,
                                 "__cudaInitModule"};
  const cudaError_t error = api_call<Need::kContext, Streams::kLegacy>(
      kInfo, no_params, [&](const Driver&) { return load_managed_variables(binary_of(handle)); });
  if (error == cudaSuccess) return 1;
  std::fprintf(stderr, "simgpu: managed variables: %s; the program will not find them\n",
               cudaGetErrorString(error));
  return 0;
}
GACER_ALSO_12(__cudaInitModule)

GACER_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                                  CUstream_st* stream) {
  static constexpr ApiInfo kInfo{CUPTI_RUNTIME_TRACE_CBID___cudaPushCallConfiguration_v13000,
                                 "__cudaPushCallConfiguration"};
  return api_call<Need::kNothing, Streams::kLegacy>(
      kInfo, no_params, [&](const Driver&) -> Outcome {
        thread_state().configurations.push_back({grid, block, shared_bytes, stream});
        return cudaSuccess;
      });
}
GACER_ALSO_12(__cudaPushCallConfiguration)

GACER_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                    void* stream) {
  static constexpr ApiInfo kInfo{CUPTI_RUNTIME_TRACE_CBID___cudaPopCallConfiguration_v13000,
                                 "__cudaPopCallConfiguration"};
  return api_call<Need::kNothing, Streams::kLegacy>(
      kInfo, no_params, [&](const Driver&) -> Outcome {
        auto& pending = thread_state().configurations;
        if (pending.empty()) return cudaErrorMissingConfiguration;
        const CallConfiguration& top = pending.back();
        *grid = top.grid;
        *block = top.block;
        *shared_bytes = top.shared_bytes;
        *static_cast<cudaStream_t*>(stream) = top.stream;
        pending.pop_back();
        return cudaSuccess;
      });
}
GACER_ALSO_12(__cudaPopCallConfiguration)

// The host stub of a kernel asks once and keeps the handle; a failure shows at the launch, which
// gets a null one.
GACER_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* out, const void* host_function) {
  static constexpr ApiInfo kInfo{CUPTI_RUNTIME_TRACE_CBID___cudaGetKernel_v13000,
                                 "__cudaGetKernel"};
  return api_call<Need::kQuiet, Streams::kLegacy>(kInfo, no_params, [&](const Driver&) {
    CUkernel kernel = nullptr;
    const Outcome outcome = find_kernel(host_function, kernel);
    if (outcome.failed()) note_kernel_failure(outcome.error);
    *out = outcome.failed() ? nullptr : reinterpret_cast<cudaKernel_t>(kernel);
    return outcome;
  });
}
GACER_ALSO_12(__cudaGetKernel)
