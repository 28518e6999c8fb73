// SPDX-License-Identifier: Apache-2.0
// cuModule*
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/module.h"

using namespace gacer::simdriver;

namespace {

CUmodule handle_of(const std::shared_ptr<Module>& module) {
  return HandleTable<CUmodule, Module>::to_handle(module.get());
}

// `source`: memory or path, told apart by the overload that reads it.
template <typename Source, typename Reader>
CUresult load_module(CUmodule* out, Source source, const Reader& reader, JitLog log) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string image;
  SIM_TRY(reader(source, log, image));
  std::shared_ptr<Module> module;
  SIM_TRY(load_on_device(*context, image, log, module));
  *out = handle_of(module);
  return CUDA_SUCCESS;
}

CUresult from_memory(const void* source, JitLog& log, std::string& image) {
  return read_image(source, log, image);
}

CUresult find_module(CUmodule handle, std::shared_ptr<Module>& out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  out = modules().modules.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  return load_module(out, image, from_memory, JitLog());
}
CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
  return load_module(out, image, from_memory, JitLog());
}
CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                            void** values) {
  return load_module(out, image, from_memory, JitLog(count, options, values));
}
CUresult cuModuleLoad(CUmodule* out, const char* path) {
  return load_module(out, path, read_image_file, JitLog());
}

CUresult cuModuleUnload(CUmodule handle) {
  std::shared_ptr<Module> module;
  SIM_TRY(find_module(handle, module));
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  SIM_TRY(refuse_during_capture());
  if (modules().modules.remove(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult finished = context->synchronize();
  unload_module(module);
  return finished;
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
  std::shared_ptr<Module> module;
  SIM_TRY(find_module(handle, module));
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto function = module->find_function(name);
  if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
  *out = HandleTable<CUfunction, Function>::to_handle(function.get());
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned* out, CUmodule handle) {
  std::shared_ptr<Module> module;
  SIM_TRY(find_module(handle, module));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = static_cast<unsigned>(module->functions.size());
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule handle) {
  std::shared_ptr<Module> module;
  SIM_TRY(find_module(handle, module));
  if (out == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t wanted = std::min<size_t>(count, module->functions.size());
  for (size_t i = 0; i < wanted; ++i)
    out[i] = HandleTable<CUfunction, Function>::to_handle(module->functions[i].get());
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle,
                              const char* name) {
  std::shared_ptr<Module> module;
  SIM_TRY(find_module(handle, module));
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GlobalDescription* global = module->find_global(name);
  if (global == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = global->address;
  if (bytes != nullptr) *bytes = global->bytes;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // What the environment asks for; lazy is the default since CUDA 12.2. Here a module is loaded
  // whole, a library where a context first needs it.
  const char* mode = getenv("CUDA_MODULE_LOADING");
  const bool eager = mode != nullptr && strcasecmp(mode, "EAGER") == 0;
  *out = eager ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}
