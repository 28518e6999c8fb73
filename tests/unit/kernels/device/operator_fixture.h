// SPDX-License-Identifier: Apache-2.0
// Runs one call of Ops twice, by the reference on host memory and by kernels on the device under
// test, and compares what they wrote.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

#include "kernels/host/device_ops.h"
#include "kernels/reference/reference_ops.h"
#include "tests/unit/kernels/device/test_device.h"

namespace gacer::kernels {

// The same floats on host and device.
struct Array {
  std::vector<float> host;
  float* device = nullptr;
  bool written = false;
};

// Gives an array's address on the side that a call is made for.
class Side {
 public:
  explicit Side(bool on_device) : on_device_(on_device) {}
  float* operator()(Array& array) const { return on_device_ ? array.device : array.host.data(); }
  float* operator()(Array* array) const { return array != nullptr ? (*this)(*array) : nullptr; }

 private:
  bool on_device_;
};

using OpsCall = std::function<void(Ops&, const Side&)>;

class OperatorTest : public testing::Test {
 protected:
  ~OperatorTest() override { device_under_test().release_all(); }

  // Seeded values in [low, high).
  Array& input(long long count, float low = -1.0f, float high = 1.0f);
  // Integers in [0, limit), as the bits of floats.
  Array& ids(long long count, int limit);
  // Written by the call; every value of it must be, and none beyond it.
  Array& output(long long count);
  // Read and written by the call.
  Array& in_out(long long count, float low = -1.0f, float high = 1.0f);

  // Values may differ by tolerance * (1 + |expected|).
  void expect_same(const OpsCall& call, double tolerance = 2e-5);

 private:
  Array& add(std::vector<float> values, bool written);
  void compare(const Array& array, double tolerance);

  std::deque<Array> arrays_;
  unsigned next_seed_ = 1;
};

}  // namespace gacer::kernels
