// SPDX-License-Identifier: Apache-2.0
// The model's modules, libraries, functions and launches. Every image that starts with '.' holds
// the same kernels; a kernel's parameters are the address and the number of bytes it works on.
#include <cstring>
#include <iterator>

#include "tests/property/model/call.h"

namespace gacer::property {
namespace {

constexpr uint64_t kModuleBase = 0x500'0000;
constexpr uint64_t kFunctionBase = 0x600'0000;
constexpr uint64_t kLibraryBase = 0x700'0000;
constexpr uint64_t kDerivedModules = 0x1000'0000;
constexpr uint64_t kKernelBase = 0x800'0000;
constexpr const char* kKernelNames[] = {"add", "fold", "ncclKernel", "plus"};

bool is_image(const void* image) {
  return image != nullptr && *static_cast<const char*>(image) == '.';
}

// 0: no such kernel.
uint32_t kernel_number(const char* name) {
  for (uint32_t i = 0; i < std::size(kKernelNames); ++i)
    if (name != nullptr && strcmp(name, kKernelNames[i]) == 0) return i + 2;
  return 0;
}

// Modules and functions that a library turns into come into being when somebody first asks, which
// may be the shim: their handles follow from what they are made of.
uint64_t derived_module(const Call& c, uint64_t library) {
  return kDerivedModules + (library - kLibraryBase) / 0x100 * 0x10'000 +
         c.s.contexts.at(c.context()).serial % 0x100 * 0x100;
}

uint64_t make_module(Call& c, uint64_t library) {
  const uint64_t handle =
      library == 0 ? lowest_free(c.s.modules, kModuleBase) : derived_module(c, library);
  c.s.modules[handle] = {c.context(), library, {}};
  return handle;
}

uint64_t make_function(Call& c, uint64_t module, const std::string& name) {
  uint64_t& known = c.s.modules.at(module).functions[name];
  if (known != 0) return known;
  known = c.s.modules.at(module).library == 0 ? lowest_free(c.s.functions, kFunctionBase)
                                              : module + 0x1000'0000 + kernel_number(name.c_str());
  c.s.functions[known] = {kernel_number(name.c_str()), module, name};
  return known;
}

uint64_t make_kernel(Call& c, uint64_t library, const std::string& name) {
  uint64_t& known = c.s.libraries.at(library).kernels[name];
  if (known != 0) return known;
  known = lowest_free(c.s.kernels, kKernelBase);
  c.s.kernels[known] = {kernel_number(name.c_str()), library, name};
  return known;
}

void drop_module(Call& c, uint64_t module) {
  for (const auto& [name, function] : c.s.modules.at(module).functions)
    c.s.functions.erase(function);
  c.s.modules.erase(module);
}

// Of a CUfunction or CUkernel; 0: unknown.
uint32_t number_of_kernel(const Call& c, uint64_t handle) {
  const auto function = c.s.functions.find(handle);
  if (function != c.s.functions.end()) return function->second.number;
  const auto kernel = c.s.kernels.find(handle);
  return kernel != c.s.kernels.end() ? kernel->second.number : 0;
}

// False: no parameters.
bool read_parameters(void** parameters, void** extra, Work& work) {
  uint64_t values[2] = {};
  if (parameters != nullptr) {
    memcpy(&values[0], parameters[0], 8);
    memcpy(&values[1], parameters[1], 8);
  } else if (extra != nullptr && extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
    memcpy(values, extra[1], sizeof values);
  } else {
    return false;
  }
  work.to = values[0];
  work.bytes = values[1];
  return true;
}

CUresult launch(Call& c, const KernelShape& shape, CUstream stream, void** parameters,
                void** extra) {
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  Work work;
  const CUresult error = describe_kernel(c, shape, parameters, extra, work);
  return error == CUDA_SUCCESS ? c.submit(stream, work) : error;
}

}  // namespace

CUresult describe_kernel(Call& c, const KernelShape& shape, void** parameters, void** extra,
                         Work& work) {
  work.kind = Work::Kind::kKernel;
  work.function = number_of_kernel(c, shape.function);
  work.handle = shape.function;
  work.grid = shape.grid;
  work.block = shape.block;
  if (work.function == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (shape.grid == 0 || shape.block == 0 || shape.block > 1024) return CUDA_ERROR_INVALID_VALUE;
  return read_parameters(parameters, extra, work) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

namespace implementation {

CUresult launch_kernel(Call& c, CUfunction function, unsigned gx, unsigned, unsigned, unsigned bx,
                       unsigned, unsigned, unsigned, CUstream stream, void** parameters,
                       void** extra) {
  return launch(c, {number(function), gx, bx}, stream, parameters, extra);
}

CUresult launch_kernel_ex(Call& c, const CUlaunchConfig* config, CUfunction function,
                          void** parameters, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch(c, {number(function), config->gridDimX, config->blockDimX}, config->hStream,
                parameters, extra);
}

CUresult launch_cooperative(Call& c, CUfunction function, unsigned gx, unsigned, unsigned,
                            unsigned bx, unsigned, unsigned, unsigned, CUstream stream,
                            void** parameters) {
  return launch(c, {number(function), gx, bx}, stream, parameters, nullptr);
}

CUresult module_load(Call& c, CUmodule* module, const void* image) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  if (!is_image(image)) return CUDA_ERROR_INVALID_IMAGE;
  answer(module, make_module(c, 0));
  return CUDA_SUCCESS;
}

CUresult module_load_ex(Call& c, CUmodule* module, const void* image, unsigned, CUjit_option*,
                        void**) {
  return module_load(c, module, image);
}

CUresult module_unload(Call& c, CUmodule module) {
  const auto found = c.s.modules.find(number(module));
  if (found == c.s.modules.end() || found->second.library != 0) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  c.wait_for_context(found->second.context);
  drop_module(c, number(module));
  return CUDA_SUCCESS;
}

CUresult module_function(Call& c, CUfunction* function, CUmodule module, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (c.s.modules.count(number(module)) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (kernel_number(name) == 0) return CUDA_ERROR_NOT_FOUND;
  answer(function, make_function(c, number(module), name));
  return CUDA_SUCCESS;
}

CUresult module_enumerate(Call& c, CUfunction* functions, unsigned count, CUmodule module) {
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (c.s.modules.count(number(module)) == 0) return CUDA_ERROR_INVALID_HANDLE;
  for (unsigned i = 0; i < count && i < std::size(kKernelNames); ++i)
    answer(&functions[i], make_function(c, number(module), kKernelNames[i]));
  return CUDA_SUCCESS;
}

CUresult library_load(Call& c, CUlibrary* library, const void* code, CUjit_option*, void**,
                      unsigned, CUlibraryOption*, void**, unsigned) {
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  if (!is_image(code)) return CUDA_ERROR_INVALID_IMAGE;
  const uint64_t handle = lowest_free(c.s.libraries, kLibraryBase);
  c.s.libraries[handle] = {};
  answer(library, handle);
  return CUDA_SUCCESS;
}

CUresult library_unload(Call& c, CUlibrary library) {
  const auto found = c.s.libraries.find(number(library));
  if (found == c.s.libraries.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult refused = c.unsafe(); refused != CUDA_SUCCESS) return refused;
  c.model.finish();
  for (const auto& [name, kernel] : found->second.kernels) c.s.kernels.erase(kernel);
  for (auto at = c.s.modules.begin(); at != c.s.modules.end();) {
    const auto next = std::next(at);
    if (at->second.library == found->first) drop_module(c, at->first);
    at = next;
  }
  c.s.libraries.erase(found);
  return CUDA_SUCCESS;
}

CUresult library_kernel(Call& c, CUkernel* kernel, CUlibrary library, const char* name) {
  if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (c.s.libraries.count(number(library)) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (kernel_number(name) == 0) return CUDA_ERROR_NOT_FOUND;
  answer(kernel, make_kernel(c, number(library), name));
  return CUDA_SUCCESS;
}

CUresult library_module(Call& c, CUmodule* module, CUlibrary library) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (c.s.libraries.count(number(library)) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  for (const auto& [handle, known] : c.s.modules)
    if (known.library == number(library) && known.context == c.context()) {
      answer(module, handle);
      return CUDA_SUCCESS;
    }
  answer(module, make_module(c, number(library)));
  return CUDA_SUCCESS;
}

CUresult library_enumerate(Call& c, CUkernel* kernels, unsigned count, CUlibrary library) {
  if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (c.s.libraries.count(number(library)) == 0) return CUDA_ERROR_INVALID_HANDLE;
  for (unsigned i = 0; i < count && i < std::size(kKernelNames); ++i)
    answer(&kernels[i], make_kernel(c, number(library), kKernelNames[i]));
  return CUDA_SUCCESS;
}

CUresult kernel_function(Call& c, CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!c.has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  const auto found = c.s.kernels.find(number(kernel));
  if (found == c.s.kernels.end()) return CUDA_ERROR_INVALID_HANDLE;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  answer(&library, found->second.library);
  const CUresult result = library_module(c, &module, library);
  if (result != CUDA_SUCCESS) return result;
  answer(function, make_function(c, number(module), found->second.name));
  return CUDA_SUCCESS;
}

CUresult function_attribute(Call& c, int* value, CUfunction_attribute which, CUfunction function) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t known = number_of_kernel(c, number(function));
  if (known == 0) return CUDA_ERROR_INVALID_HANDLE;
  *value = static_cast<int>(known) * 8 + static_cast<int>(which);
  return CUDA_SUCCESS;
}

CUresult function_name(Call& c, const char** name, CUfunction function) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = c.s.functions.find(number(function));
  if (found == c.s.functions.end()) return CUDA_ERROR_INVALID_HANDLE;
  *name = kKernelNames[found->second.number - 2];
  return CUDA_SUCCESS;
}

CUresult kernel_name(Call& c, const char** name, CUkernel kernel) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = c.s.kernels.find(number(kernel));
  if (found == c.s.kernels.end()) return CUDA_ERROR_INVALID_HANDLE;
  *name = kKernelNames[found->second.number - 2];
  return CUDA_SUCCESS;
}

}  // namespace implementation
}  // namespace gacer::property
