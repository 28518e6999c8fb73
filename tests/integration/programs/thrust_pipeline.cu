// SPDX-License-Identifier: Apache-2.0
// Thrust: device vectors, transforms, reductions by key, sorting pairs, sets, iterators.
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <map>

#include "program.h"

struct Square {
  __host__ __device__ double operator()(float v) const { return double(v) * v; }
};

int main() {
  constexpr int kCount = 5000;
  Random random(35);
  std::vector<float> values(kCount);
  std::vector<int> keys(kCount);
  double squares = 0;
  std::map<int, double> sums;
  for (int i = 0; i < kCount; ++i) {
    values[i] = random.unit(), keys[i] = int(random.below(40));
    squares += double(values[i]) * values[i];
    sums[keys[i]] += values[i];
  }
  thrust::device_vector<float> v(values.begin(), values.end());
  thrust::device_vector<int> k(keys.begin(), keys.end());
  const double got =
      thrust::transform_reduce(v.begin(), v.end(), Square{}, 0.0, thrust::plus<double>());
  EXPECT(std::fabs(got - squares) < 1e-9 * squares);

  thrust::stable_sort_by_key(k.begin(), k.end(), v.begin());
  EXPECT(thrust::is_sorted(k.begin(), k.end()));
  thrust::device_vector<int> out_keys(kCount);
  thrust::device_vector<float> out_sums(kCount);
  const auto ends =
      thrust::reduce_by_key(k.begin(), k.end(), v.begin(), out_keys.begin(), out_sums.begin());
  EXPECT(ends.first - out_keys.begin() == long(sums.size()));
  int i = 0;
  for (const auto& [key, sum] : sums) {
    EXPECT(out_keys[i] == key);
    EXPECT(std::fabs(out_sums[i] - sum) < 1e-4 * sum);
    ++i;
  }
  const int first_large =
      *thrust::min_element(thrust::counting_iterator<int>(5), thrust::counting_iterator<int>(50));
  EXPECT(first_large == 5);
  thrust::device_vector<int> order(kCount);
  thrust::sequence(order.begin(), order.end());
  thrust::device_vector<float> copy(values.begin(), values.end());
  thrust::sort_by_key(copy.begin(), copy.end(), order.begin(), thrust::greater<float>());
  std::vector<float> sorted = values;
  std::sort(sorted.rbegin(), sorted.rend());
  const std::vector<float> back(copy.begin(), copy.end());
  EXPECT(same(back, sorted));
  EXPECT(values[order[0]] == sorted[0]);
  return passed("thrust_pipeline");
}
