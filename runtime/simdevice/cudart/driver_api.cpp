// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/driver_api.h"

#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>

#include <algorithm>
#include <type_traits>

namespace gacer::cudart {
namespace {

constexpr int kPerThreadVersion = 7000;  // the oldest that knows per-thread streams
constexpr int kOldestVersion = 12000;

using Lookup = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

template <typename Function>
struct Missing;
template <typename... Arguments>
struct Missing<CUresult (*)(Arguments...)> {
  static CUresult entry(Arguments...) { return CUDA_ERROR_NOT_SUPPORTED; }
};

#define CU(name, version) static_assert(std::is_same_v<decltype(&::name), PFN_##name##_v##version>);
#include "runtime/simdevice/cudart/driver_api.def"
#undef CU

struct Library {
  bool found = false;
  Lookup lookup = nullptr;
  Driver legacy, per_thread;
};

template <typename Function>
void resolve(Lookup lookup, const char* name, int version, cuuint64_t flags, Function& out) {
  out = &Missing<Function>::entry;
  void* entry = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (lookup == nullptr ||
      lookup(name, &entry, std::max(version, kPerThreadVersion), flags, &status) != CUDA_SUCCESS)
    return;
  if (entry != nullptr) out = reinterpret_cast<Function>(entry);
}

void fill(Lookup lookup, cuuint64_t flags, Driver& out) {
#define CU(name, version) resolve(lookup, #name, version, flags, out.name);
#include "runtime/simdevice/cudart/driver_api.def"
#undef CU
}

Library* open_library() {
  auto* library = new Library;  // kept: destructors of the program may still call
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  library->found = handle != nullptr;
  if (handle != nullptr)
    library->lookup = reinterpret_cast<Lookup>(dlsym(handle, "cuGetProcAddress_v2"));
  fill(library->lookup, CU_GET_PROC_ADDRESS_LEGACY_STREAM, library->legacy);
  fill(library->lookup, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, library->per_thread);
  return library;
}

Library& library() {
  static Library& opened = *open_library();
  return opened;
}

CUresult initialize() {
  if (!driver_found()) return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
  int version = 0;
  const CUresult result = legacy_driver().cuDriverGetVersion(&version);
  if (result != CUDA_SUCCESS) return result;
  if (version < kOldestVersion) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  return legacy_driver().cuInit(0);
}

}  // namespace

const Driver& legacy_driver() {
  return library().legacy;
}
const Driver& per_thread_driver() {
  return library().per_thread;
}
bool driver_found() {
  return library().found && library().lookup != nullptr;
}

CUresult driver_ready() {
  static const CUresult result = initialize();
  return result;
}

CUresult driver_lookup(const char* name, void** out, int cuda_version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult* status) {
  if (library().lookup == nullptr) return CUDA_ERROR_NOT_FOUND;
  return library().lookup(name, out, cuda_version, flags, status);
}

}  // namespace gacer::cudart
