// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "interpose/driver_search.h"
#include "interpose/spin_lock.h"
#include "runtime/base/log.h"

// musl has none.
#pragma weak dlvsym

namespace gacer::interpose {

constinit DriverTable gacer_driver_table;

namespace detail {
constinit std::atomic<bool> driver_ready{false};
}  // namespace detail

namespace {

constinit SpinLock publish_lock;
constinit std::atomic<void*> library{nullptr};
constinit SymbolSource symbol_source = nullptr;
constinit void* symbol_context = nullptr;
// The driver's own constructors may call driver functions while we open it.
[[gnu::tls_model("initial-exec")]] thread_local bool loading_here = false;

struct Search {
  dev_t own_device = 0;
  ino_t own_inode = 0;
  void* handle = nullptr;
};

// The marker that every build of the shim exports: two shims must not forward to each other.
bool is_a_shim(void* handle) {
  return dlsym(handle, "gacer_shim_version") != nullptr;
}

// Of the C library itself: another preload's dlopen, such as a second shim's, may lead elsewhere.
// Interposers have no symbol versions, so asking for a version passes them by.
DlopenFunction libc_dlopen() {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
    if (&dlvsym == nullptr) break;
    void* address = dlvsym(RTLD_NEXT, "dlopen", version);
    if (address == nullptr) continue;
    DlopenFunction function = nullptr;
    memcpy(&function, &address, sizeof function);
    return function;
  }
  return real_dlopen();
}

bool try_candidate(void* context, const char* path) {
  auto& search = *static_cast<Search*>(context);
  struct stat info {};
  if (stat(path, &info) != 0) return false;
  if (info.st_dev == search.own_device && info.st_ino == search.own_inode) return false;
  void* handle = libc_dlopen()(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    log_line(LogLevel::kInfo, "gacer", "cannot open driver %s: %s", path, dlerror());
    return false;
  }
  if (is_a_shim(handle)) {
    dlclose(handle);
    return false;
  }
  log_line(LogLevel::kDebug, "gacer", "driver: %s", path);
  search.handle = handle;
  return true;
}

void* open_next_driver() {
  Search search;
  Dl_info own{};
  struct stat info {};
  if (dladdr(reinterpret_cast<void*>(&open_next_driver), &own) != 0 && own.dli_fname != nullptr &&
      stat(own.dli_fname, &info) == 0) {
    search.own_device = info.st_dev;
    search.own_inode = info.st_ino;
  }
  loading_here = true;
  visit_driver_candidates(&try_candidate, &search);
  loading_here = false;
  return search.handle;
}

void say_that_there_is_none() {
  log_line(
      LogLevel::kWarn, "gacer",
      "no CUDA driver (libcuda.so.1) in GACER_REAL_LIBCUDA, LD_LIBRARY_PATH or the system's "
      "folders; "
      "CUDA calls answer 'no device'. Install the driver or set GACER_REAL_LIBCUDA to its path");
}

void* symbol_of_library(void* handle, const char* symbol) {
  return handle == nullptr ? nullptr : dlsym(handle, symbol);
}

const DriverTable& table_while_loading() {
  static const DriverTable table = [] {
    DriverTable missing;
    fill_driver_table(missing, &symbol_of_library, nullptr, CUDA_ERROR_NOT_INITIALIZED);
    return missing;
  }();
  return table;
}

// False: another thread was first.
bool publish(const DriverTable& table, void* handle) {
  const SpinGuard guard(publish_lock);
  if (detail::driver_ready.load(std::memory_order_relaxed)) return false;
  gacer_driver_table = table;
  library.store(handle, std::memory_order_relaxed);
  detail::driver_ready.store(true, std::memory_order_release);  // pairs with driver()
  return true;
}

}  // namespace

namespace detail {

// Several threads may come here at once, and each opens the driver: the loader counts. None waits
// for another one while it does so, since that other may be inside the loader's lock, in a
// constructor of a library that is being opened.
const DriverTable& load_driver() {
  if (loading_here) return table_while_loading();
  void* handle = open_next_driver();
  DriverTable table;
  const CUresult missing = handle == nullptr ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_NOT_SUPPORTED;
  fill_driver_table(table, &symbol_of_library, handle, missing);
  if (publish(table, handle)) {
    if (handle == nullptr) say_that_there_is_none();
  } else if (handle != nullptr) {
    dlclose(handle);
  }
  return gacer_driver_table;
}

}  // namespace detail

void* driver_symbol(const char* symbol) {
  driver();
  if (symbol_source != nullptr) return symbol_source(symbol_context, symbol);
  return symbol_of_library(library.load(std::memory_order_relaxed), symbol);
}

bool driver_found() {
  driver();
  return symbol_source != nullptr || library.load(std::memory_order_relaxed) != nullptr;
}

DlopenFunction real_dlopen() {
  static std::atomic<void*> found{nullptr};
  void* address = found.load(std::memory_order_relaxed);
  if (address == nullptr) {
    address = dlsym(RTLD_NEXT, "dlopen");
    found.store(address, std::memory_order_relaxed);
  }
  DlopenFunction function = nullptr;
  memcpy(&function, &address, sizeof function);
  return function;
}

void install_driver(const DriverTable& table, SymbolSource symbols, void* context) {
  gacer_driver_table = table;
  symbol_source = symbols;
  symbol_context = context;
  detail::driver_ready.store(true, std::memory_order_release);  // pairs with driver()
}

void reset_driver_lock() {
  publish_lock.unlock();
}

}  // namespace gacer::interpose
