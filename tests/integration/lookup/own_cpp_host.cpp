// SPDX-License-Identifier: Apache-2.0
// A program with C++ of its own: another Boost.Interprocess in the global scope (make_poison.py,
// and the class below), exceptions through its own libstdc++, thrown over and over while it uses
// CUDA.
#include <cuda.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

namespace fmt {
// Not the layout or the meaning of any real version.
__attribute__((noinline)) std::string vformat(const char* text, int count) {
  return std::string(static_cast<size_t>(count), text[0]);
}
}  // namespace fmt

namespace {

struct OwnError : std::runtime_error {
  explicit OwnError(int number) : std::runtime_error("own"), number(number) {}
  int number;
};

void expect(bool holds, const char* what) {
  if (holds) return;
  printf("not so: %s\n", what);
  exit(1);
}

void launch() {
  expect(cuLaunchKernel(reinterpret_cast<CUfunction>(0x1000), 1, 1, 1, 32, 1, 1, 0, nullptr,
                        nullptr, nullptr) == CUDA_SUCCESS,
         "a launch succeeds");
}

void launch_and_throw(int number) {
  launch();
  throw OwnError(number);
}

void catch_many() {
  for (int i = 0; i < 100; ++i) {
    try {
      launch_and_throw(i);
    } catch (const OwnError& error) {
      launch();  // inside a handler: the exception in flight is still ours
      expect(error.number == i, "the exception arrives as it was thrown");
      expect(std::current_exception() != nullptr, "it is known as the current one");
    }
    expect(std::uncaught_exceptions() == 0, "none is left over");
  }
}

std::string object_of(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fname : "?";
}

}  // namespace

int main() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  expect(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
             cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
             cuCtxSetCurrent(context) == CUDA_SUCCESS,
         "there is a device");
  catch_many();
  std::thread(&catch_many).join();
  const std::string thrower = object_of(dlsym(RTLD_DEFAULT, "__cxa_throw"));
  expect(thrower.find("libstdc++") != std::string::npos, "exceptions come from libstdc++.so");
  expect(fmt::vformat("x", 3) == "xxx", "its own fmt is its own");
  printf("caught\n");
  return 0;
}
