// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernels/device/operator_fixture.h"

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/device/counter_hash.h"

namespace gacer::kernels {
namespace {

// Behind every array on the device; a kernel that writes past its end changes it.
constexpr std::size_t kGuardFloats = 64;
constexpr float kGuard = 12345.0f;

std::size_t bytes_of(std::size_t floats) {
  return floats * sizeof(float);
}

}  // namespace

Array& OperatorTest::add(std::vector<float> values, bool written) {
  TestDevice& device = device_under_test();
  std::vector<float> guarded = values;
  guarded.resize(values.size() + kGuardFloats, kGuard);
  Array& array = arrays_.emplace_back();
  array.host = std::move(values);
  array.device = static_cast<float*>(device.allocate(bytes_of(guarded.size())));
  array.written = written;
  device.upload(array.device, guarded.data(), bytes_of(guarded.size()));
  return array;
}

Array& OperatorTest::input(long long count, float low, float high) {
  std::vector<float> values(static_cast<std::size_t>(count));
  ReferenceOps().init_uniform(values.data(), count, next_seed_++, low, high);
  return add(std::move(values), false);
}

Array& OperatorTest::ids(long long count, int limit) {
  std::vector<float> values;
  for (long long i = 0; i < count; ++i) {
    const unsigned id = hash_at(next_seed_, i) % static_cast<unsigned>(limit);
    values.push_back(std::bit_cast<float>(id));
  }
  ++next_seed_;
  return add(std::move(values), false);
}

Array& OperatorTest::output(long long count) {
  const float unwritten = std::numeric_limits<float>::quiet_NaN();
  return add(std::vector<float>(static_cast<std::size_t>(count), unwritten), true);
}

Array& OperatorTest::in_out(long long count, float low, float high) {
  Array& array = input(count, low, high);
  array.written = true;
  return array;
}

void OperatorTest::expect_same(const OpsCall& call, double tolerance) {
  ReferenceOps reference;
  DeviceOps on_device(device_under_test().launcher());
  call(reference, Side(false));
  call(on_device, Side(true));
  for (const Array& array : arrays_) compare(array, array.written ? tolerance : 0.0);
  EXPECT_EQ(device_under_test().error(), "");
}

void OperatorTest::compare(const Array& array, double tolerance) {
  const std::size_t count = array.host.size();
  std::vector<float> found(count + kGuardFloats);
  device_under_test().download(found.data(), array.device, bytes_of(found.size()));
  std::size_t wrong = 0, first_wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double expected = i < count ? array.host[i] : kGuard;
    const double allowed = i < count ? tolerance * (1.0 + std::abs(expected)) : 0.0;
    const bool same_bits =
        i < count && std::bit_cast<unsigned>(found[i]) == std::bit_cast<unsigned>(array.host[i]);
    const bool close = std::abs(found[i] - expected) <= allowed;  // false for NaN
    if (close || (same_bits && !array.written)) continue;
    if (wrong++ == 0) first_wrong = i;
  }
  if (wrong == 0) return;
  ADD_FAILURE() << wrong << " of " << count << " values differ; [" << first_wrong << "] is "
                << found[first_wrong] << ", expected "
                << (first_wrong < count ? array.host[first_wrong] : kGuard);
}

}  // namespace gacer::kernels
