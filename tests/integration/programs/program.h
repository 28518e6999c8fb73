// SPDX-License-Identifier: Apache-2.0
// What the programs share: error checks, random input, comparison, and the verdict.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                             \
  do {                                                                                          \
    const cudaError_t check_error = (call);                                                     \
    if (check_error != cudaSuccess) {                                                           \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(check_error)); \
      std::exit(1);                                                                             \
    }                                                                                           \
  } while (0)

// Everything launched so far went well.
#define CHECK_LAUNCH()              \
  do {                              \
    CHECK(cudaGetLastError());      \
    CHECK(cudaDeviceSynchronize()); \
  } while (0)

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

// xorshift; the same numbers everywhere.
class Random {
 public:
  explicit Random(uint32_t seed = 1) : state_(seed * 2654435761u + 1) {}
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  uint32_t below(uint32_t limit) { return next() % limit; }
  float unit() { return static_cast<float>(next() >> 8) / 16777216.0f; }

 private:
  uint32_t state_;
};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) { CHECK(cudaMalloc(&data_, bytes())); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    CHECK(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* get() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  void clear() { CHECK(cudaMemset(data_, 0, bytes())); }
  std::vector<T> host() const {
    std::vector<T> values(count_);
    CHECK(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// Prints the first difference.
template <typename T, typename U>
bool same(const std::vector<T>& got, const std::vector<U>& want, double relative = 0,
          double absolute = 0) {
  if (got.size() != want.size()) {
    std::printf("%zu values instead of %zu\n", got.size(), want.size());
    return false;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const double a = static_cast<double>(got[i]), b = static_cast<double>(want[i]);
    const double room = absolute + relative * std::fabs(b);
    if (!(std::fabs(a - b) <= room)) {
      std::printf("[%zu] is %.9g instead of %.9g\n", i, a, b);
      return false;
    }
  }
  return true;
}

inline int passed(const char* name) {
  std::printf("%s: passed\n", name);
  return 0;
}
