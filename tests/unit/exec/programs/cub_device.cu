// SPDX-License-Identifier: Apache-2.0
// Device-wide algorithms of CUB.
#include <cub/cub.cuh>
void f(void* t, size_t& n, int* a, int* b, float* x, double* y) {
  cub::DeviceReduce::Sum(t, n, a, b, 100);
  cub::DeviceScan::InclusiveSum(t, n, a, b, 100);
  cub::DeviceRadixSort::SortPairs(t, n, a, b, x, x, 100);
  cub::DeviceReduce::ArgMin(t, n, y, (cub::KeyValuePair<int, double>*)b, 100);
  cub::DeviceSelect::Unique(t, n, a, b, b, 100);
  cub::DeviceRunLengthEncode::Encode(t, n, a, b, b, b, 100);
  cub::DeviceHistogram::HistogramEven(t, n, a, b, 10, 0, 10, 100);
  cub::DeviceSegmentedReduce::Sum(t, n, x, x, 10, a, a + 1);
  cub::DeviceMergeSort::SortKeys(t, n, x, 100, [] __device__(float a, float b) { return a < b; });
  cub::DevicePartition::Flagged(t, n, a, b, a, b, 100);
}
