// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/integration/process/client_cuda.h"
#include "tests/integration/process/client_modes.h"

namespace gacer::test {
namespace {

int at_exit_launches = 0;

struct AtDestruction {
  ~AtDestruction() {
    if (at_exit_launches > 0) launch(at_exit_launches);
  }
};
// Destroyed after main, before and after what the shim may have registered.
AtDestruction static_object;

void at_exit() {
  launch(at_exit_launches);
}

void close_from(unsigned first) {
  expect(syscall(SYS_close_range, first, ~0U, 0) == 0, "close_range");
}

void ignore_signal(int) {}

pthread_key_t exit_key;
void launch_from_key(void*) {
  launch(1);
}

void short_thread() {
  static thread_local AtDestruction object;
  (void)&object;  // constructed here
  pthread_setspecific(exit_key, &exit_key);
  launch(1);
}

void* launch_until_cancelled(void*) {
  for (;;) {
    launch(1);
    pthread_testcancel();
  }
}

}  // namespace

void close_all_before(int count) {
  close_from(0);
  launch(count);
  for (int fd = 0; fd < 3; ++fd) expect(fcntl(fd, F_GETFD) < 0, "the first numbers stay free");
}

void close_all_after(int seconds) {
  launch(10);
  close_from(3);
  for (int i = 0; i < seconds * 500; ++i) {
    launch(1);
    usleep(2000);
  }
}

void closed_standard_files(int count) {
  for (int fd = 0; fd < 3; ++fd) close(fd);
  launch(count);
  for (int fd = 0; fd < 3; ++fd)
    expect(open("/dev/null", O_RDWR) == fd, "the standard numbers are the program's");
}

void standard_error_reused(int count) {
  const char* path = getenv("CLIENT_FILE");
  close(2);
  expect(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) == 2, "the file gets number 2");
  launch(count);
  struct stat info {};
  fstat(2, &info);
  expect(info.st_size == 0, "nobody writes into the program's file");
}

void drop_privileges(int count) {
  const auto uid = static_cast<uid_t>(atoi(getenv("CLIENT_UID")));
  expect(setgroups(0, nullptr) == 0 && setgid(uid) == 0 && setuid(uid) == 0, "setuid");
  launch(count);
}

void launch_at_exit(int count) {
  launch(count);
  at_exit_launches = count;
  atexit(&at_exit);
}

void exit_at_once(int count) {
  launch(count);
  _exit(failures() == 0 ? 0 : 1);
}

void launch_at_thread_exit(int count) {
  prepare();
  at_exit_launches = 1;
  pthread_key_create(&exit_key, &launch_from_key);
  for (int i = 0; i < count; i += 8) {
    std::vector<std::thread> threads;
    for (int k = 0; k < 8; ++k) threads.emplace_back(&short_thread);
    for (std::thread& thread : threads) thread.join();
  }
  at_exit_launches = 0;
}

void close_driver_handle(int count) {
  using Launch = decltype(&cuLaunchKernel);
  prepare();
  for (int i = 0; i < count; ++i) {
    void* handle = dlopen("libcuda.so.1", RTLD_NOW);
    expect(handle != nullptr, "dlopen of the driver");
    Launch call = nullptr;
    void* address = dlsym(handle, "cuLaunchKernel");
    memcpy(&call, &address, sizeof call);
    expect(call(function(), 1, 1, 1, 32, 1, 1, 0, stream(), nullptr, nullptr) == CUDA_SUCCESS,
           "a launch by the handle");
    dlclose(handle);
    dlclose(handle);  // one too many: programs do
    launch(1);
  }
}

void other_namespace(int count) {
  using Launch = decltype(&cuLaunchKernel);
  launch(count);
  void* handle = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  expect(handle != nullptr, "dlmopen of the driver");
  if (handle == nullptr) return;
  Launch call = nullptr;
  void* address = dlsym(handle, "cuLaunchKernel");
  expect(address != nullptr, "cuLaunchKernel in the namespace");
  memcpy(&call, &address, sizeof call);
  expect(call(nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS,
         "a launch in the namespace");
  dlclose(handle);
  launch(count);
}

void interval_timer(int count) {
  struct sigaction action {};
  action.sa_handler = &ignore_signal;  // without SA_RESTART
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  launch(count);
}

void cancelled_threads(int count) {
  prepare();
  for (int i = 0; i < count; ++i) {
    pthread_t thread{};
    pthread_create(&thread, nullptr, &launch_until_cancelled, nullptr);
    usleep(static_cast<useconds_t>(i % 5) * 1000);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    expect(result == PTHREAD_CANCELED, "the thread was cancelled");
  }
  launch(1);
}

}  // namespace gacer::test
