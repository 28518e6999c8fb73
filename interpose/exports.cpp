// SPDX-License-Identifier: Apache-2.0
// What only the preloaded library has, besides its forwarders: the C++ side of the dlopen entry,
// and what tells a shim from a driver.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "interpose/dlopen_redirect.h"
#include "interpose/driver.h"
#include "interpose/driver_search.h"
#include "interpose/memory_view.h"
#include "interpose/nvml/nvml_library.h"
#include "interpose/proc_address.h"
#include "runtime/abi/version.h"

extern "C" [[gnu::weak]] const char* gnu_get_libc_version();

namespace {

// By which the loader answers with the shim, which is already loaded: its SONAME, or, for loaders
// other than glibc's, which do not know libraries by that, its path.
const char* own_name() {
  static const char marker = 0;
  Dl_info own{};
  if (&gnu_get_libc_version != nullptr || dladdr(&marker, &own) == 0) return "libcuda.so.1";
  return own.dli_fname;
}

}  // namespace

extern "C" {

std::atomic<void*> gacer_real_dlopen{nullptr};

const char* gacer_dlopen_name(const char* file, int mode) {
  if (gacer_real_dlopen.load(std::memory_order_relaxed) == nullptr) {
    auto function = gacer::interpose::real_dlopen();
    gacer_real_dlopen.store(reinterpret_cast<void*>(function), std::memory_order_relaxed);
  }
  if (const char* face = gacer::interpose::nvml::face_for(file, mode)) return face;
  if (!gacer::interpose::names_the_driver(file)) return file;
  gacer::interpose::note_asked_path(file);
  return own_name();
}

[[gnu::visibility("default")]] uint32_t gacer_shim_version() {
  return gacer::abi::kAbiVersion;
}

// For gacer doctor: which driver symbol a hook stands for; NULL: no hook.
[[gnu::visibility("default")]] const char* gacer_shim_symbol_of(const void* hook) {
  const gacer::interpose::HookTable table = gacer::interpose::hook_table();
  for (uint32_t i = 0; i < table.count; ++i)
    if (table.rows[i].hook == hook) return table.rows[i].symbol;
  return nullptr;
}

[[gnu::visibility("default")]] int gacer_memory_view(const uint8_t* uuid, uint64_t* total,
                                                     uint64_t* used) {
  return gacer::interpose::memory_view(uuid, total, used);
}

}  // extern "C"
