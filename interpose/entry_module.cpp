// SPDX-License-Identifier: Apache-2.0
// Entry points: modules, libraries and the kernels in them. Observed, so that launches have names.
#include <cstring>

#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/image_hash.h"
#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

template <typename Handle>
uint64_t number_of(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}

// The image is read only after the driver has accepted it.
template <typename Handle, typename Call>
CUresult load_image(const Handle* handle, const void* image, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (!scope.outermost() || result != CUDA_SUCCESS || handle == nullptr) return result;
  shim().kernels.learn_image(number_of(*handle), hash_image(image));
  shim().overhead.module_loaded(number_of(*handle), image_bytes_of(image));
  return result;
}

// By path: identical files in two places count as two images, which costs a second profile, nothing
// else.
template <typename Handle, typename Call>
CUresult load_file(const Handle* handle, const char* path, const Call& call) {
  const HookScope scope;
  const CUresult result = call();
  if (scope.outermost() && result == CUDA_SUCCESS && handle != nullptr && path != nullptr)
    shim().kernels.learn_image(number_of(*handle), hash_bytes(path, strlen(path), 1));
  return result;
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

CUresult gacer_hook_cuModuleLoad(CUmodule* module, const char* path) {
  return load_file(module, path, [&] { return driver().cuModuleLoad(module, path); });
}

CUresult gacer_hook_cuModuleLoadData(CUmodule* module, const void* image) {
  return load_image(module, image, [&] { return driver().cuModuleLoadData(module, image); });
}

CUresult gacer_hook_cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                                       CUjit_option* options, void** values) {
  return load_image(module, image, [&] {
    return driver().cuModuleLoadDataEx(module, image, count, options, values);
  });
}

CUresult gacer_hook_cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load_image(module, image, [&] { return driver().cuModuleLoadFatBinary(module, image); });
}

CUresult gacer_hook_cuModuleUnload(CUmodule module) {
  const HookScope scope;
  if (scope.outermost()) shim().kernels.forget_image(number_of(module));
  const CUresult result = driver().cuModuleUnload(module);
  if (scope.outermost() && result == CUDA_SUCCESS)
    shim().overhead.module_unloaded(number_of(module));
  return result;
}

CUresult gacer_hook_cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const HookScope scope;
  const CUresult result = driver().cuModuleGetFunction(function, module, name);
  if (scope.outermost() && result == CUDA_SUCCESS && function != nullptr)
    shim().kernels.learn_function(*function, number_of(module), name);
  return result;
}

CUresult gacer_hook_cuModuleEnumerateFunctions(CUfunction* functions, unsigned count,
                                               CUmodule module) {
  const HookScope scope;
  const CUresult result = driver().cuModuleEnumerateFunctions(functions, count, module);
  if (!scope.outermost() || result != CUDA_SUCCESS || functions == nullptr) return result;
  for (unsigned i = 0; i < count; ++i) {
    const char* name = nullptr;
    if (functions[i] != nullptr && driver().cuFuncGetName(&name, functions[i]) == CUDA_SUCCESS)
      shim().kernels.learn_function(functions[i], number_of(module), name);
  }
  return result;
}

CUresult gacer_hook_cuLibraryLoadData(CUlibrary* library, const void* code,
                                      CUjit_option* jit_options, void** jit_values,
                                      unsigned jit_count, CUlibraryOption* library_options,
                                      void** library_values, unsigned library_count) {
  return load_image(library, code, [&] {
    return driver().cuLibraryLoadData(library, code, jit_options, jit_values, jit_count,
                                      library_options, library_values, library_count);
  });
}

CUresult gacer_hook_cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                                          CUjit_option* jit_options, void** jit_values,
                                          unsigned jit_count, CUlibraryOption* library_options,
                                          void** library_values, unsigned library_count) {
  return load_file(library, path, [&] {
    return driver().cuLibraryLoadFromFile(library, path, jit_options, jit_values, jit_count,
                                          library_options, library_values, library_count);
  });
}

CUresult gacer_hook_cuLibraryUnload(CUlibrary library) {
  const HookScope scope;
  if (scope.outermost()) shim().kernels.forget_image(number_of(library));
  const CUresult result = driver().cuLibraryUnload(library);
  if (scope.outermost() && result == CUDA_SUCCESS)
    shim().overhead.module_unloaded(number_of(library));
  return result;
}

CUresult gacer_hook_cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const HookScope scope;
  const CUresult result = driver().cuLibraryGetKernel(kernel, library, name);
  if (scope.outermost() && result == CUDA_SUCCESS && kernel != nullptr)
    shim().kernels.learn_library_kernel(*kernel, number_of(library), name);
  return result;
}

CUresult gacer_hook_cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count,
                                              CUlibrary library) {
  const HookScope scope;
  const CUresult result = driver().cuLibraryEnumerateKernels(kernels, count, library);
  if (!scope.outermost() || result != CUDA_SUCCESS || kernels == nullptr) return result;
  for (unsigned i = 0; i < count; ++i) {
    const char* name = nullptr;
    if (kernels[i] != nullptr && driver().cuKernelGetName(&name, kernels[i]) == CUDA_SUCCESS)
      shim().kernels.learn_library_kernel(kernels[i], number_of(library), name);
  }
  return result;
}

CUresult gacer_hook_cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  const HookScope scope;
  const CUresult result = driver().cuLibraryGetModule(module, library);
  if (scope.outermost() && result == CUDA_SUCCESS && module != nullptr)
    shim().kernels.learn_derived_module(number_of(library), number_of(*module));
  return result;
}

CUresult gacer_hook_cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const HookScope scope;
  const CUresult result = driver().cuKernelGetFunction(function, kernel);
  if (scope.outermost() && result == CUDA_SUCCESS && function != nullptr)
    shim().kernels.learn_alias(*function, kernel);
  return result;
}

}  // extern "C"
