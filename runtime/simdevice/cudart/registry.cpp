// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/registry.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/simdevice/cudart/context.h"
#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/fat_binary.h"

namespace gacer::cudart {
namespace {

struct HostKernel {
  std::shared_ptr<FatBinary> binary;
  const char* device_name = nullptr;
};

struct HostVariable {
  std::shared_ptr<FatBinary> binary;
  const char* device_name = nullptr;
};

struct Registry {
  std::shared_mutex mutex;
  std::vector<std::shared_ptr<FatBinary>> binaries;
  std::unordered_map<const void*, HostKernel> kernels;
  std::unordered_map<const void*, HostVariable> variables;
  std::unordered_map<CUkernel, const void*> host_of;
  bool exiting = false;
};

Registry& registry() {
  static Registry& state = *new Registry;
  return state;
}

std::shared_ptr<FatBinary> shared(FatBinary* binary) {
  for (const auto& known : registry().binaries)
    if (known.get() == binary) return known;
  return nullptr;
}

// A program's own exit handlers unregister after this one has run: the process ends, nothing is
// unloaded any more.
void note_exit() {
  const std::unique_lock lock(registry().mutex);
  registry().exiting = true;
}

HostKernel kernel_at(const void* host_function) {
  const std::shared_lock lock(registry().mutex);
  const auto found = registry().kernels.find(host_function);
  return found == registry().kernels.end() ? HostKernel{} : found->second;
}

// Managed variables are named by where they lie.
std::shared_ptr<FatBinary> owner_of_managed(const void* address) {
  const std::shared_lock lock(registry().mutex);
  for (const auto& binary : registry().binaries)
    if (binary->managed_at(address) != nullptr) return binary;
  return nullptr;
}

Outcome kernel_of(const HostKernel& host, const void* host_function, CUkernel& out) {
  static const int registered = std::atexit(note_exit);
  (void)registered;
  CUlibrary library = nullptr;
  RT_TRY(host.binary->library(library));
  if (legacy_driver().cuLibraryGetKernel(&out, library, host.device_name) != CUDA_SUCCESS)
    return cudaErrorInvalidDeviceFunction;
  const std::unique_lock lock(registry().mutex);
  registry().host_of[out] = host_function;
  return cudaSuccess;
}

}  // namespace

FatBinary* add_fat_binary(const void* wrapper) {
  auto binary = std::make_shared<FatBinary>(wrapper);
  const std::unique_lock lock(registry().mutex);
  registry().binaries.push_back(binary);
  return binary.get();
}

void remove_fat_binary(FatBinary* binary) {
  std::shared_ptr<FatBinary> removed;
  {
    const std::unique_lock lock(registry().mutex);
    removed = shared(binary);
    if (removed == nullptr) return;
    std::erase(registry().binaries, removed);
    std::erase_if(registry().host_of, [&](const auto& entry) {
      const auto kernel = registry().kernels.find(entry.second);
      return kernel != registry().kernels.end() && kernel->second.binary == removed;
    });
    std::erase_if(registry().kernels, [&](const auto& k) { return k.second.binary == removed; });
    std::erase_if(registry().variables, [&](const auto& v) { return v.second.binary == removed; });
    if (registry().exiting) return;
  }
  removed->unload();
}

void add_kernel(FatBinary* binary, const void* host_function, const char* device_name) {
  const std::unique_lock lock(registry().mutex);
  registry().kernels[host_function] = {shared(binary), device_name};
}

void add_variable(FatBinary* binary, const void* host_variable, const char* device_name,
                  size_t /*bytes*/) {
  const std::unique_lock lock(registry().mutex);
  registry().variables[host_variable] = {shared(binary), device_name};
}

void add_managed_variable(FatBinary* binary, void** host_pointer, const char* device_name,
                          size_t bytes) {
  const std::unique_lock lock(registry().mutex);
  const std::shared_ptr<FatBinary> owner = shared(binary);
  if (owner != nullptr) owner->add({host_pointer, device_name, 0, bytes});
}

Outcome load_managed_variables(FatBinary* binary) {
  std::shared_ptr<FatBinary> owner;
  {
    const std::shared_lock lock(registry().mutex);
    owner = shared(binary);
  }
  return owner == nullptr ? Outcome(cudaErrorInvalidResourceHandle) : owner->load_managed();
}

Outcome find_kernel(const void* host_function, CUkernel& out) {
  const HostKernel host = kernel_at(host_function);
  if (host.binary == nullptr) return cudaErrorInvalidDeviceFunction;
  return kernel_of(host, host_function, out);
}

Outcome find_function(const void* function, CUfunction& out) {
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  out = static_cast<CUfunction>(const_cast<void*>(function));
  if (const HostKernel host = kernel_at(function); host.binary != nullptr) {
    CUkernel kernel = nullptr;
    RT_TRY(kernel_of(host, function, kernel));
    out = reinterpret_cast<CUfunction>(kernel);
    return cudaSuccess;
  }
  const char* name = nullptr;
  const Driver& driver = legacy_driver();
  const bool known =
      driver.cuKernelGetName(&name, reinterpret_cast<CUkernel>(out)) == CUDA_SUCCESS ||
      driver.cuFuncGetName(&name, out) == CUDA_SUCCESS;
  return known ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

Outcome find_loaded_function(const void* function, CUfunction& out) {
  CUfunction handle = nullptr;
  RT_TRY(find_function(function, handle));
  const auto kernel = reinterpret_cast<CUkernel>(handle);
  const char* name = nullptr;
  if (legacy_driver().cuKernelGetName(&name, kernel) == CUDA_SUCCESS)
    return legacy_driver().cuKernelGetFunction(&out, kernel);
  out = handle;
  return cudaSuccess;
}

const void* host_function_of(CUfunction function) {
  std::unordered_map<CUkernel, const void*> known;
  {
    const std::shared_lock lock(registry().mutex);
    const auto found = registry().host_of.find(reinterpret_cast<CUkernel>(function));
    if (found != registry().host_of.end()) return found->second;
    known = registry().host_of;
  }
  for (const auto& [kernel, host] : known) {
    CUfunction loaded = nullptr;
    if (legacy_driver().cuKernelGetFunction(&loaded, kernel) == CUDA_SUCCESS && loaded == function)
      return host;
  }
  return function;
}

Outcome find_symbol(const void* host_variable, CUdeviceptr& address, size_t& bytes) {
  if (const auto owner = owner_of_managed(host_variable)) {
    const ManagedVariable* variable = owner->managed_at(host_variable);
    address = variable->address;
    bytes = variable->bytes;
    return cudaSuccess;
  }
  HostVariable host;
  {
    const std::shared_lock lock(registry().mutex);
    const auto found = registry().variables.find(host_variable);
    if (found == registry().variables.end()) return cudaErrorInvalidSymbol;
    host = found->second;
  }
  CUlibrary library = nullptr;
  RT_TRY(host.binary->library(library));
  const CUresult result =
      legacy_driver().cuLibraryGetGlobal(&address, &bytes, library, host.device_name);
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidSymbol;
  return result;
}

const char* kernel_name(const void* function) {
  if (const char* name = kernel_at(function).device_name; name != nullptr) return name;
  const void* host = nullptr;
  const auto kernel = static_cast<CUkernel>(const_cast<void*>(function));
  {
    const std::shared_lock lock(registry().mutex);
    const auto found = registry().host_of.find(kernel);
    if (found != registry().host_of.end()) host = found->second;
  }
  if (host != nullptr) return kernel_at(host).device_name;
  const char* name = nullptr;
  const bool known =
      kernel != nullptr && legacy_driver().cuKernelGetName(&name, kernel) == CUDA_SUCCESS;
  return known ? name : nullptr;
}

}  // namespace gacer::cudart
