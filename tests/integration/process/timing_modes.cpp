// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "tests/integration/process/client_cuda.h"
#include "tests/integration/process/client_modes.h"

namespace gacer::test {
namespace {

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t timed_launch_ns() {
  const uint64_t start_ns = now_ns();
  launch(1);
  return now_ns() - start_ns;
}

// What a memory limit is asked about.
void allocate_and_free() {
  CUdeviceptr pointer = 0;
  const CUresult result = cuMemAlloc(&pointer, 1 << 20);
  expect(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY, "memory, or none left");
  if (result == CUDA_SUCCESS) expect(cuMemFree(pointer) == CUDA_SUCCESS, "cuMemFree");
}

void wait_for_byte() {
  char byte = 0;
  [[maybe_unused]] const ssize_t got = read(STDIN_FILENO, &byte, 1);
}

// Reads nothing: the bytes are other processes' signals.
bool input_has_ended(int wait_ms) {
  pollfd input{STDIN_FILENO, 0, 0};
  poll(&input, 1, wait_ms);
  return (input.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

void timed_first_launch(int count) {
  cuInit(0);  // the driver is loaded, and nobody has attached
  printf("ready\n");
  fflush(stdout);
  wait_for_byte();
  const uint64_t first_ns = timed_launch_ns();
  launch(count);
  printf("%lu\n", first_ns);
  fflush(stdout);
  while (!input_has_ended(-1)) continue;
}

void launch_slowly(int seconds) {
  uint64_t longest_ns = 0;
  launch(1);
  printf("ready\n");
  fflush(stdout);
  const uint64_t end_ns = now_ns() + static_cast<uint64_t>(seconds) * 1'000'000'000U;
  while (now_ns() < end_ns && !input_has_ended(0)) {
    longest_ns = std::max(longest_ns, timed_launch_ns());
    allocate_and_free();
    usleep(1000);
  }
  printf("%lu\n", longest_ns);
}

void stop_then_launch(int count) {
  cuInit(0);  // the driver is loaded, and nobody has attached
  raise(SIGSTOP);
  launch(count);
  allocate_and_free();
}

}  // namespace gacer::test
