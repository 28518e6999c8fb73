// SPDX-License-Identifier: Apache-2.0
// Sparse matrix times vector: CSR by thread, CSR by warp, ELL, and COO with atomics.
#include "program.h"

__global__ void csr_thread(int rows, const int* first, const int* column, const float* value,
                           const float* x, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = first[row]; i < first[row + 1]; ++i) sum += value[i] * __ldg(&x[column[i]]);
  y[row] = sum;
}

__global__ void csr_warp(int rows, const int* first, const int* column, const float* value,
                         const float* x, float* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int i = first[row] + lane; i < first[row + 1]; i += 32) sum += value[i] * x[column[i]];
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
  if (lane == 0) y[row] = sum;
}

__global__ void ell(int rows, int width, const int* column, const float* value, const float* x,
                    float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = 0; k < width; ++k) {
    const int c = column[k * rows + row];
    if (c >= 0) sum += value[k * rows + row] * x[c];
  }
  y[row] = sum;
}

__global__ void coo(int entries, const int* row, const int* column, const float* value,
                    const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += gridDim.x * blockDim.x)
    atomicAdd(&y[row[i]], value[i] * x[column[i]]);
}

int main() {
  constexpr int kRows = 1500, kColumns = 1200;
  Random random(10);
  std::vector<int> first{0}, column, row_of;
  std::vector<float> value, x(kColumns);
  for (float& v : x) v = random.unit() - 0.5f;
  int width = 0;
  for (int row = 0; row < kRows; ++row) {
    const int count = row % 97 == 0 ? 200 : static_cast<int>(random.below(20));
    for (int i = 0; i < count; ++i) {
      column.push_back(static_cast<int>(random.below(kColumns)));
      value.push_back(random.unit());
      row_of.push_back(row);
    }
    first.push_back(static_cast<int>(column.size()));
    width = std::max(width, count);
  }
  std::vector<double> want(kRows);
  for (size_t i = 0; i < value.size(); ++i) want[row_of[i]] += double(value[i]) * x[column[i]];
  std::vector<int> ell_column(size_t(width) * kRows, -1);
  std::vector<float> ell_value(ell_column.size());
  for (int row = 0; row < kRows; ++row)
    for (int i = first[row], k = 0; i < first[row + 1]; ++i, ++k)
      ell_column[k * kRows + row] = column[i], ell_value[k * kRows + row] = value[i];

  DeviceArray<int> dfirst(first), dcolumn(column), drow(row_of), decolumn(ell_column);
  DeviceArray<float> dvalue(value), dx(x), dy(kRows), devalue(ell_value);
  const int blocks = (kRows + 127) / 128;
  auto check = [&] {
    CHECK_LAUNCH();
    EXPECT(same(dy.host(), want, 1e-5, 1e-4));
    dy.clear();
  };
  csr_thread<<<blocks, 128>>>(kRows, dfirst.get(), dcolumn.get(), dvalue.get(), dx.get(), dy.get());
  check();
  csr_warp<<<(kRows + 3) / 4, 128>>>(kRows, dfirst.get(), dcolumn.get(), dvalue.get(), dx.get(),
                                     dy.get());
  check();
  ell<<<blocks, 128>>>(kRows, width, decolumn.get(), devalue.get(), dx.get(), dy.get());
  check();
  coo<<<20, 128>>>(static_cast<int>(value.size()), drow.get(), dcolumn.get(), dvalue.get(),
                   dx.get(), dy.get());
  check();
  return passed("spmv");
}
