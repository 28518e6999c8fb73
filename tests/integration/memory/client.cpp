// SPDX-License-Identifier: Apache-2.0
// An ordinary program that allocates device memory. Sizes in MiB.
//
//   memory_client loop STEPS MOST SEED      random allocations and frees, each of 1 to MOST; ends
//   with
//                                           nothing; prints "granted N refused N other N"
//   memory_client rounds COUNT SIZE         per line on standard input: one allocation, prints "ok"
//   or
//                                           the error, frees it at the next line
//   memory_client hold SIZE [CHILD]         one allocation, prints "ok" or the error, waits for the
//   end
//                                           of its input. CHILD: fork, setsid, twice: a child made
//                                           that way does it
//   memory_client attributes                every device attribute of device 0
//   memory_client info                      "total free"
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <cuda.h>

namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t number(const char* text) {
  return strtoull(text, nullptr, 10);
}

void start() {
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS) {
    printf("no device\n");
    exit(3);
  }
}

void say(CUresult result) {
  if (result == CUDA_SUCCESS)
    printf("ok\n");
  else
    printf("error %d\n", static_cast<int>(result));
  fflush(stdout);
}

int loop(size_t steps, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<CUdeviceptr> held;
  size_t granted = 0;
  size_t refused = 0;
  size_t other = 0;
  for (size_t i = 0; i < steps; ++i) {
    CUdeviceptr pointer = 0;
    if (random() % 2 == 0 || held.empty()) {
      const CUresult result = cuMemAlloc(&pointer, (1 + random() % most) * kMiB);
      if (result == CUDA_SUCCESS) held.push_back(pointer);
      ++(result == CUDA_SUCCESS ? granted : result == CUDA_ERROR_OUT_OF_MEMORY ? refused : other);
      continue;
    }
    const size_t index = random() % held.size();
    if (cuMemFree(held[index]) != CUDA_SUCCESS) ++other;
    held[index] = held.back();
    held.pop_back();
  }
  for (const CUdeviceptr pointer : held)
    if (cuMemFree(pointer) != CUDA_SUCCESS) ++other;
  printf("granted %zu refused %zu other %zu\n", granted, refused, other);
  return 0;
}

int rounds(size_t count, size_t size) {
  char line[16];
  CUdeviceptr pointer = 0;
  for (size_t i = 0; i < count; ++i) {
    if (fgets(line, sizeof line, stdin) == nullptr) return 1;
    say(cuMemAlloc(&pointer, size * kMiB));
    if (fgets(line, sizeof line, stdin) == nullptr) return 1;
    if (pointer != 0) cuMemFree(pointer);
    pointer = 0;
    printf("freed\n");
    fflush(stdout);
  }
  return 0;
}

int hold(size_t size) {
  start();
  CUdeviceptr pointer = 0;
  say(cuMemAlloc(&pointer, size * kMiB));
  while (getchar() != EOF) {
  }
  return 0;
}

int in_child(size_t size, const std::string& way) {
  const pid_t child = fork();
  if (child != 0) return waitpid(child, nullptr, 0) == child ? 0 : 1;
  if (way == "setsid") setsid();
  if (way == "twice" && (setsid(), fork() != 0)) {
    wait(nullptr);
    return 0;
  }
  exit(hold(size));
}

int attributes() {
  for (int id = 1; id <= 200; ++id) {
    int value = -1;
    const CUresult result = cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(id), 0);
    printf("%d %d %d\n", id, static_cast<int>(result), value);
  }
  return 0;
}

int info() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  const CUresult result = cuMemGetInfo(&free_bytes, &total_bytes);
  printf("%zu %zu %d\n", total_bytes, free_bytes, static_cast<int>(result));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "hold" && argc == 3) return hold(number(argv[2]));
  if (mode == "hold" && argc == 4) return in_child(number(argv[2]), argv[3]);
  start();
  if (mode == "loop" && argc == 5)
    return loop(number(argv[2]), number(argv[3]), static_cast<unsigned>(number(argv[4])));
  if (mode == "rounds" && argc == 4) return rounds(number(argv[2]), number(argv[3]));
  if (mode == "attributes") return attributes();
  if (mode == "info") return info();
  fprintf(stderr, "memory_client: unknown mode %s\n", mode.c_str());
  return 2;
}
