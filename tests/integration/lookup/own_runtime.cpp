// SPDX-License-Identifier: Apache-2.0
// Exceptions by the parts that the preload library puts in the place of the C++ runtime's: thrown,
// nested, carried to another thread and counted, with glibc's unwind tables found by ours.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>

namespace {

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  printf("not so: %s\n", what);
}

struct Watch {
  int* seen;
  ~Watch() { *seen = std::uncaught_exceptions(); }
};

void nested(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  try {
    nested(depth - 1);
  } catch (const std::runtime_error&) {
    std::throw_with_nested(std::runtime_error("less deep"));
  }
}

void throw_many() {
  for (int i = 0; i < 1000; ++i) {
    int unwinding = -1;
    try {
      const Watch watch{&unwinding};
      nested(3);
    } catch (const std::exception& error) {
      expect(strcmp(error.what(), "less deep") == 0, "the outermost of the nested ones");
    }
    expect(unwinding == 1, "one is in flight while destructors run");
    expect(std::uncaught_exceptions() == 0, "none afterwards");
  }
}

#ifdef DLFO_EH_SEGMENT_TYPE
void compare_with_the_c_library() {
  using Find = int (*)(void*, dl_find_object*);
  const auto theirs = reinterpret_cast<Find>(dlsym(RTLD_NEXT, "_dl_find_object"));
  if (theirs == nullptr) return;
  for (void* address : {reinterpret_cast<void*>(&throw_many), reinterpret_cast<void*>(&printf),
                        reinterpret_cast<void*>(&dlsym), static_cast<void*>(&failures)}) {
    dl_find_object ours_found{};
    dl_find_object theirs_found{};
    const int ours = _dl_find_object(address, &ours_found);
    expect(ours == theirs(address, &theirs_found), "found alike");
    expect(ours != 0 || ours_found.dlfo_eh_frame == theirs_found.dlfo_eh_frame, "the same table");
  }
  dl_find_object nothing{};
  expect(_dl_find_object(nullptr, &nothing) == -1, "nothing lies at address 0");
}
#else
void compare_with_the_c_library() {}
#endif

}  // namespace

int main() {
  throw_many();
  std::thread other(&throw_many);
  throw_many();
  other.join();
  std::exception_ptr kept;
  std::thread([&] { kept = std::make_exception_ptr(std::logic_error("from there")); }).join();
  try {
    std::rethrow_exception(kept);
  } catch (const std::logic_error& error) {
    expect(strcmp(error.what(), "from there") == 0, "carried over threads");
  }
  compare_with_the_c_library();
  return failures;
}
