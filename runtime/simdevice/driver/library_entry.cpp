// SPDX-License-Identifier: Apache-2.0
// cuLibrary*, cuKernel*
#include <algorithm>
#include <memory>

#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/module.h"

using namespace gacer::simdriver;

namespace {

void forget_kernels(const Library& library) {
  for (const auto& kernel : library.kernels)
    modules().kernels.remove(HandleTable<CUkernel, Kernel>::to_handle(kernel.get()));
}

std::shared_ptr<Library> make_library(std::string image, const JitLog& log) {
  auto library = std::make_shared<Library>();
  library->image = std::move(image);
  library->max_registers = log.max_registers();
  for (std::string& name : kernel_names(library->image)) {
    auto kernel = std::make_shared<Kernel>();
    kernel->library = library;
    kernel->name = std::move(name);
    kernel->settings = std::make_shared<FunctionSettings>();
    modules().kernels.add(kernel);
    library->kernels.push_back(std::move(kernel));
  }
  return library;
}

// Lazy: a module is made for a context when it first asks for one. Not lazy: at once where there is
// a context, so that an error shows here and not at the first launch.
CUresult finish_load(CUlibrary* out, std::string image, JitLog& log) {
  std::shared_ptr<Library> library = make_library(std::move(image), log);
  std::shared_ptr<Context> context;
  if (current_context(context) == CUDA_SUCCESS) {
    std::shared_ptr<Module> module;
    const CUresult loaded = load_on_device(*context, library->image, log, module, library.get());
    if (loaded != CUDA_SUCCESS) {
      forget_kernels(*library);
      return loaded;
    }
    library->instances[context->id()] = std::move(module);
  }
  *out = modules().libraries.add(std::move(library));
  return CUDA_SUCCESS;
}

CUresult find_library(CUlibrary handle, std::shared_ptr<Library>& out) {
  SIM_TRY(Driver::get().ready());
  out = modules().libraries.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult find_kernel(CUkernel handle, std::shared_ptr<Kernel>& out) {
  SIM_TRY(Driver::get().ready());
  out = modules().kernels.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// What is known of a kernel, from any context in which it is loaded.
CUresult describe(const std::shared_ptr<Kernel>& kernel, KernelDescription& out) {
  const std::shared_ptr<Library> library = kernel->library.lock();
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  {
    const std::lock_guard lock(library->mutex);
    for (const auto& [context, module] : library->instances) {
      const auto function = module == nullptr ? nullptr : module->find_function(kernel->name);
      if (function == nullptr) continue;
      out = function->info;
      return CUDA_SUCCESS;
    }
  }
  std::shared_ptr<Function> function;
  SIM_TRY(kernel_function(kernel, function));
  out = function->info;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLibraryLoadData(CUlibrary* out, const void* code, CUjit_option* options, void** values,
                           unsigned count, CUlibraryOption*, void**, unsigned) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitLog log(count, options, values);
  std::string image;
  SIM_TRY(read_image(code, log, image));
  return finish_load(out, std::move(image), log);
}

CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option* options,
                               void** values, unsigned count, CUlibraryOption*, void**, unsigned) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitLog log(count, options, values);
  std::string image;
  SIM_TRY(read_image_file(path, log, image));
  return finish_load(out, std::move(image), log);
}

CUresult cuLibraryUnload(CUlibrary handle) {
  SIM_TRY(Driver::get().ready());
  const std::shared_ptr<Library> library = modules().libraries.remove(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  forget_kernels(*library);
  std::shared_ptr<Context> context;
  if (current_context(context) == CUDA_SUCCESS) SIM_TRY(context->synchronize());
  const std::lock_guard lock(library->mutex);
  for (const auto& [context_id, module] : library->instances) {
    if (module == nullptr) continue;
    modules().modules.remove(HandleTable<CUmodule, Module>::to_handle(module.get()));
    unload_module(module);
  }
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
  std::shared_ptr<Library> library;
  SIM_TRY(find_library(handle, library));
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& kernel : library->kernels) {
    if (kernel->name != name) continue;
    *out = HandleTable<CUkernel, Kernel>::to_handle(kernel.get());
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernelCount(unsigned* out, CUlibrary handle) {
  std::shared_ptr<Library> library;
  SIM_TRY(find_library(handle, library));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = static_cast<unsigned>(library->kernels.size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary handle) {
  std::shared_ptr<Library> library;
  SIM_TRY(find_library(handle, library));
  if (out == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t wanted = std::min<size_t>(count, library->kernels.size());
  for (size_t i = 0; i < wanted; ++i)
    out[i] = HandleTable<CUkernel, Kernel>::to_handle(library->kernels[i].get());
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  std::shared_ptr<Library> library;
  SIM_TRY(find_library(handle, library));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  SIM_TRY(library_module(library, module));
  *out = HandleTable<CUmodule, Module>::to_handle(module.get());
  return CUDA_SUCCESS;
}

namespace {

CUresult library_variable(CUlibrary handle, const char* name, bool managed, CUdeviceptr* address,
                          size_t* bytes) {
  std::shared_ptr<Library> library;
  SIM_TRY(find_library(handle, library));
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  SIM_TRY(library_module(library, module));
  const GlobalDescription* global = module->find_global(name);
  if (global == nullptr || (managed && !global->managed)) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = global->address;
  if (bytes != nullptr) *bytes = global->bytes;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle,
                            const char* name) {
  return library_variable(handle, name, false, address, bytes);
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary handle,
                             const char* name) {
  return library_variable(handle, name, true, address, bytes);
}

// Unified functions are device functions with a pointer for the host, which only systems with
// coherent host and device (Grace) have.
CUresult cuLibraryGetUnifiedFunction(void** out, CUlibrary handle, const char* name) {
  std::shared_ptr<Library> library;
  SIM_TRY(find_library(handle, library));
  return out == nullptr || name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  std::shared_ptr<Kernel> kernel;
  SIM_TRY(find_kernel(handle, kernel));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> function;
  SIM_TRY(kernel_function(kernel, function));
  *out = HandleTable<CUfunction, Function>::to_handle(function.get());
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
  std::shared_ptr<Kernel> kernel;
  SIM_TRY(find_kernel(handle, kernel));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = HandleTable<CUlibrary, Library>::to_handle(kernel->library.lock().get());
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** out, CUkernel handle) {
  std::shared_ptr<Kernel> kernel;
  SIM_TRY(find_kernel(handle, kernel));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int* out, CUfunction_attribute attribute, CUkernel handle,
                              CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  SIM_TRY(find_kernel(handle, kernel));
  SIM_TRY(check_device(device));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelDescription info;
  SIM_TRY(describe(kernel, info));
  return function_attribute(info, *kernel->settings, attribute, *out);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                              CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  SIM_TRY(find_kernel(handle, kernel));
  SIM_TRY(check_device(device));
  KernelDescription info;
  SIM_TRY(describe(kernel, info));
  return set_function_attribute(info, *kernel->settings, attribute, value);
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
  std::shared_ptr<Kernel> kernel;
  SIM_TRY(find_kernel(handle, kernel));
  KernelDescription info;
  SIM_TRY(describe(kernel, info));
  if (offset == nullptr || index >= info.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = info.params[index].offset;
  if (bytes != nullptr) *bytes = info.params[index].bytes;
  return CUDA_SUCCESS;
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache, CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  SIM_TRY(find_kernel(handle, kernel));
  return check_device(device);  // a preference that the device need not follow
}
