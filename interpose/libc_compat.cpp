// SPDX-License-Identifier: Apache-2.0
// What the static C++ runtime in the preload library would otherwise ask of one particular C
// library. With this the library needs nothing but libc.so.6 and also loads, without doing
// anything, into programs of musl, whose shells would not start with a preload that lacks a symbol.
// Linked into libgacer.so only, hidden.
#include <cxxabi.h>
#include <pthread.h>
#include <sys/single_threaded.h>

#include <cerrno>

namespace {

// Layout: Itanium C++ ABI 2.2.2. libstdc++'s own would be reached through __tls_get_addr.
struct ExceptionGlobals {
  void* caught = nullptr;
  unsigned uncaught = 0;
};
[[gnu::tls_model("initial-exec")]] thread_local ExceptionGlobals exception_globals;

__cxxabiv1::__cxa_eh_globals* globals() {
  return reinterpret_cast<__cxxabiv1::__cxa_eh_globals*>(&exception_globals);
}

}  // namespace

namespace __cxxabiv1 {
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept {
  return globals();
}
extern "C" __cxa_eh_globals* __cxa_get_globals_fast() noexcept {
  return globals();
}
}  // namespace __cxxabiv1

extern "C" {

// Never assume that there is one thread only: glibc's word for it is younger than others' libc.
char __libc_single_threaded = 0;

// NOLINTBEGIN(readability-identifier-naming): names of the C library and of the compiler's start-up
// code
extern void* __dso_handle;
[[gnu::weak]] int __register_atfork(void (*before)(), void (*parent)(), void (*child)(), void* dso);
// NOLINTEND(readability-identifier-naming)

// glibc's own is a static piece that ends in the same call.
int pthread_atfork(void (*before)(), void (*parent)(), void (*child)()) noexcept {
  if (&__register_atfork == nullptr) return ENOSYS;
  return __register_atfork(before, parent, child, &__dso_handle);
}

}  // extern "C"
