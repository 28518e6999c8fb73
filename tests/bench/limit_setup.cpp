// SPDX-License-Identifier: Apache-2.0
// Finds the null driver behind the two yardstick preloads and maps their shared words.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
void* limit_real[8];
uint64_t* limit_counter;
uint64_t* limit_word;
}

namespace {

constexpr const char* kNames[] = {"cuLaunchKernel",      "cuLaunchKernelEx",  "cuInit",
                                  "cuStreamCreate",      "cuModuleLoadData",  "cuModuleGetFunction",
                                  "cuStreamSynchronize", "cuStreamDestroy_v2"};

uint64_t* shared_page() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return static_cast<uint64_t*>(page);
}

[[gnu::constructor]] void set_up() {
  const char* path = getenv("GACER_REAL_LIBCUDA");
  void* library = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    fprintf(stderr, "limit preload: set GACER_REAL_LIBCUDA: %s\n", dlerror());
    exit(1);
  }
  for (int i = 0; i < 8; ++i) limit_real[i] = dlsym(library, kNames[i]);
  limit_counter = shared_page();
  limit_word = shared_page();
}

}  // namespace
