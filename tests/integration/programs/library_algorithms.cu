// SPDX-License-Identifier: Apache-2.0
// The toolkit's own device-wide algorithms (CUB): look-back scan, radix sort, reduce, select, runs.
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <numeric>

#include "program.h"

template <typename Call>
void with_storage(Call call) {
  size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  DeviceArray<char> storage(std::max<size_t>(bytes, 1));
  CHECK(call(storage.get(), bytes));
  CHECK_LAUNCH();
}

struct IsOdd {
  __host__ __device__ bool operator()(int v) const { return v & 1; }
};

int main() {
  constexpr int kCount = 30011;
  Random random(34);
  std::vector<int> values(kCount), scanned(kCount);
  for (int& v : values) v = int(random.below(1000)) - 300;
  std::partial_sum(values.begin(), values.end(), scanned.begin());
  DeviceArray<int> in(values), out(kCount), count(1);
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceScan::InclusiveSum(s, b, in.get(), out.get(), kCount);
  });
  EXPECT(same(out.host(), scanned));

  with_storage([&](void* s, size_t& b) {
    return cub::DeviceReduce::Sum(s, b, in.get(), out.get(), kCount);
  });
  EXPECT(out.host()[0] == scanned.back());
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceReduce::Max(s, b, in.get(), out.get(), kCount);
  });
  EXPECT(out.host()[0] == *std::max_element(values.begin(), values.end()));

  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceRadixSort::SortKeys(s, b, in.get(), out.get(), kCount);
  });
  EXPECT(same(out.host(), sorted));

  std::vector<int> odd;
  std::copy_if(values.begin(), values.end(), std::back_inserter(odd), IsOdd{});
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceSelect::If(s, b, in.get(), out.get(), count.get(), kCount, IsOdd{});
  });
  EXPECT(count.host()[0] == int(odd.size()));
  auto selected = out.host();
  selected.resize(odd.size());
  EXPECT(same(selected, odd));

  DeviceArray<int> runs_in(sorted), keys(kCount), lengths(kCount);
  with_storage([&](void* s, size_t& b) {
    return cub::DeviceRunLengthEncode::Encode(s, b, runs_in.get(), keys.get(), lengths.get(),
                                              count.get(), kCount);
  });
  const int runs = count.host()[0];
  const auto k = keys.host(), l = lengths.host();
  int at = 0;
  for (int i = 0; i < runs; ++i) {
    EXPECT(sorted[at] == k[i] && sorted[at + l[i] - 1] == k[i]);
    at += l[i];
  }
  EXPECT(at == kCount);
  return passed("library_algorithms");
}
