// SPDX-License-Identifier: Apache-2.0
// What the CUDA programs of this folder share.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

// The call succeeds; its name and error are in the message.
#define EXPECT_CUDA(call) EXPECT_EQ(cudaSuccess, (call)) << #call
#define ASSERT_CUDA(call) ASSERT_EQ(cudaSuccess, (call)) << #call

// Device memory of `count` elements, freed at the end.
template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : count_(count) {
    EXPECT_CUDA(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  T* get() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> host(count_);
    EXPECT_CUDA(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  void write(const std::vector<T>& host) {
    EXPECT_CUDA(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }

 private:
  size_t count_;
  T* data_ = nullptr;
};
