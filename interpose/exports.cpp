// SPDX-License-Identifier: Apache-2.0
// What only the preloaded library has: the C++ side of the generated forwarders and of the dlopen
// entry.
#include <atomic>
#include <cstdint>

#include "interpose/coverage.h"
#include "interpose/dlopen_redirect.h"
#include "interpose/driver.h"
#include "runtime/abi/version.h"
#include "runtime/base/log.h"

namespace {

// In the order of the generated table.
constexpr const char* kForwardNames[] = {
#include "forward_names.inc"
};

}  // namespace

extern "C" {

// One pointer per forwarder; starts at the code that calls gacer_forward_resolve.
extern std::atomic<void*> gacer_forward_table[];
extern uint64_t gacer_forward_counts[];

std::atomic<void*> gacer_real_dlopen{nullptr};

// Kept only once the driver is there, so that a call made while it is opened is looked up again.
void* gacer_forward_resolve(uint32_t index) {
  void* function = gacer::interpose::driver_symbol(kForwardNames[index]);
  const bool found = gacer::interpose::driver_found();
  if (function == nullptr) {
    gacer::log_line(gacer::LogLevel::kInfo, "gacer", "the driver has no %s", kForwardNames[index]);
    function =
        gacer::interpose::missing_function(found ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NO_DEVICE);
  } else {
    gacer::interpose::note_forwarded_function(kForwardNames[index], &gacer_forward_counts[index]);
  }
  if (gacer::interpose::detail::driver_ready.load(
          std::memory_order_acquire))  // pairs with load_driver()
    gacer_forward_table[index].store(function, std::memory_order_release);  // read by one jump
  return function;
}

const char* gacer_dlopen_name(const char* file) {
  if (gacer_real_dlopen.load(std::memory_order_relaxed) == nullptr) {
    auto function = gacer::interpose::real_dlopen();
    gacer_real_dlopen.store(reinterpret_cast<void*>(function), std::memory_order_relaxed);
  }
  // Our own SONAME: the loader answers with the shim, which is already loaded.
  return gacer::interpose::names_the_driver(file) ? "libcuda.so.1" : file;
}

[[gnu::visibility("default")]] uint32_t gacer_shim_version() {
  return gacer::abi::kAbiVersion;
}

}  // extern "C"
