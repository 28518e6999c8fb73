// SPDX-License-Identifier: Apache-2.0
// Kernels that nvcc compiled, in the dialects of several architectures, against plain loops on the
// host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Kernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    program_ =
        device_.load(read_file(std::string(GACER_KERNEL_PTX) + "/basic_" + GetParam() + ".ptx"));
    ASSERT_NE(program_, nullptr);
  }
  void run(const char* kernel, LaunchShape launch_shape, const Params& params) {
    const Fault fault = device_.launch(*program_, kernel, launch_shape, params);
    ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  }
  std::vector<float> random_floats(size_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> out(count);
    for (float& v : out) v = normal(random_);
    return out;
  }
  Device device_;
  std::shared_ptr<Program> program_;
  std::mt19937 random_{5};
};

void expect_close(const std::vector<float>& got, const std::vector<double>& want,
                  double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << "element " << i;
}

TEST_P(Kernels, TiledGemm) {
  const int m = 50, n = 41, k = 35;
  const auto a = random_floats(m * k), b = random_floats(k * n);
  const uint64_t c = device_.allocate(m * n * 4);
  LaunchShape s;
  s.grid = {3, 4, 1};
  s.block = {16, 16, 1};
  run("tiled_gemm", s,
      Params().add(device_.upload(a)).add(device_.upload(b)).add(c).add(m).add(n).add(k));
  std::vector<double> want(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int x = 0; x < k; ++x)
        want[i * n + j] += static_cast<double>(a[i * k + x]) * b[x * n + j];
  expect_close(device_.download<float>(c, m * n), want, 1e-5);
}

TEST_P(Kernels, BlockReduction) {
  const auto in = random_floats(5000);
  const uint64_t out = device_.upload(std::vector<float>{0});
  run("reduce", shape(4, 256), Params().add(device_.upload(in)).add(out).add(5000));
  expect_close(device_.download<float>(out, 1), {std::accumulate(in.begin(), in.end(), 0.0)}, 1e-4);
}

TEST_P(Kernels, Softmax) {
  const int rows = 3, n = 201;
  const auto in = random_floats(rows * n);
  const uint64_t out = device_.allocate(rows * n * 4);
  run("softmax", shape(rows, 128, n * 4), Params().add(device_.upload(in)).add(out).add(n));
  std::vector<double> want(rows * n);
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += want[r * n + i] = std::exp(in[r * n + i]);
    for (int i = 0; i < n; ++i) want[r * n + i] /= sum;
  }
  expect_close(device_.download<float>(out, rows * n), want, 1e-6);
}

TEST_P(Kernels, LayerNormAndGelu) {
  const int rows = 2, n = 300;
  const auto in = random_floats(rows * n);
  const uint64_t out = device_.allocate(rows * n * 4);
  run("layer_norm_gelu", shape(rows, 96), Params().add(device_.upload(in)).add(out).add(n));
  std::vector<double> want;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int i = 0; i < n; ++i) mean += in[r * n + i] / double{n};
    for (int i = 0; i < n; ++i) variance += (in[r * n + i] - mean) * (in[r * n + i] - mean) / n;
    for (int i = 0; i < n; ++i) {
      const double v = (in[r * n + i] - mean) / std::sqrt(variance + 1e-5);
      want.push_back(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))));
    }
  }
  expect_close(device_.download<float>(out, rows * n), want, 2e-6);
}

TEST_P(Kernels, HistogramWithAtomics) {
  std::vector<uint8_t> in(10'000);
  std::vector<int> want(256);
  for (auto& v : in) ++want[v = static_cast<uint8_t>(std::min<uint64_t>(255, random_() % 300))];
  const uint64_t bins = device_.upload(std::vector<int>(256));
  run("histogram", shape(3, 100), Params().add(device_.upload(in)).add(bins).add(10'000));
  EXPECT_EQ(device_.download<int>(bins, 256), want);
}

TEST_P(Kernels, HalfPairs) {
  const int n = 77;
  std::vector<uint16_t> x(2 * n), y(2 * n), want(2 * n);
  const std::array<uint16_t, 2> a = {0x4200, 0xb800};  // 3, -0.5
  for (int i = 0; i < 2 * n; ++i) {
    x[i] = static_cast<uint16_t>(to_half(i * 0.37 - 20));
    y[i] = static_cast<uint16_t>(to_half(5 - i * 0.11));
    want[i] =
        static_cast<uint16_t>(to_half(half_value(a[i % 2]) * half_value(x[i]) + half_value(y[i])));
  }
  const uint64_t out = device_.upload(y);
  run("half2_axpy", shape(2, 64),
      Params().add(as<uint32_t>(a)).add(device_.upload(x)).add(out).add(n));
  EXPECT_EQ(device_.download<uint16_t>(out, 2 * n), want);
}

TEST_P(Kernels, Bfloat16) {
  const int n = 100;
  std::vector<uint16_t> x(n), want(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<uint16_t>(to_bf16(i * 1.7 - 80));
    want[i] = static_cast<uint16_t>(to_bf16(static_cast<float>(bf16_value(x[i])) * 1.3f));
  }
  const uint64_t out = device_.allocate(n * 2);
  run("bf16_scale", shape(1, 128), Params().add(device_.upload(x)).add(out).add(1.3f).add(n));
  EXPECT_EQ(device_.download<uint16_t>(out, n), want);
}

TEST_P(Kernels, DoublePrecisionFunctions) {
  const int n = 500;
  std::vector<double> in(n);
  std::uniform_real_distribution<double> uniform(-30, 30);
  for (double& v : in) v = uniform(random_);
  const uint64_t out = device_.allocate(n * 8);
  run("double_math", shape(4, 128), Params().add(device_.upload(in)).add(out).add(n));
  const auto got = device_.download<double>(out, n);
  for (int i = 0; i < n; ++i) {
    const double x = in[i], want = std::pow(std::fabs(x) + 0.5, 1.25) / (1 + std::exp(-x)) +
                                   std::sin(x) * std::sqrt(std::fabs(x));
    ASSERT_NEAR(got[i], want, 1e-13 * (1 + std::fabs(want))) << x;
  }
}

TEST_P(Kernels, SinglePrecisionFunctions) {
  const int n = 600;
  auto in = random_floats(n);
  in[0] = 1e5f;  // the long argument reduction of sinf
  in[1] = -3e8f;
  const uint64_t out = device_.allocate(n * 4);
  run("float_math", shape(5, 128), Params().add(device_.upload(in)).add(out).add(n));
  std::vector<double> want;
  for (float v : in) {
    const double x = v, thousand = v * 1000.0f;
    want.push_back(std::tanh(x) + std::pow(std::fabs(x) + 0.1, 1.7) + std::log(std::fabs(x) + 1) +
                   std::sin(thousand) + std::cos(x) + std::atan2(x, 0.3) + std::cbrt(x));
  }
  expect_close(device_.download<float>(out, n), want, 3e-6);
}

TEST_P(Kernels, WideIntegers) {
  const int n = 300;
  std::mt19937_64 wide(3);
  std::vector<int64_t> a(n), b(n), want(n);
  __extension__ using wide_int = __int128;
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<int64_t>(wide()) >> (i % 60);
    b[i] = (static_cast<int64_t>(wide()) >> (i * 7 % 60)) | 1;
    want[i] = static_cast<int64_t>(
        static_cast<uint64_t>(a[i] / b[i] + a[i] % 1000003) + static_cast<uint64_t>(a[i]) / 7 +
        static_cast<uint64_t>(__builtin_popcountll(static_cast<uint64_t>(a[i]))) +
        static_cast<uint64_t>(b[i] < 0 ? 0 : __builtin_clzll(static_cast<uint64_t>(b[i]))) +
        static_cast<uint64_t>(static_cast<wide_int>(a[i]) * b[i] >> 64));
  }
  const uint64_t out = device_.allocate(n * 8);
  run("integer_math", shape(3, 128),
      Params().add(device_.upload(a)).add(device_.upload(b)).add(out).add(n));
  EXPECT_EQ(device_.download<int64_t>(out, n), want);
}

TEST_P(Kernels, Transpose) {
  const int rows = 45, columns = 70;
  const auto in = random_floats(rows * columns);
  const uint64_t out = device_.allocate(rows * columns * 4);
  LaunchShape s;
  s.grid = {3, 2, 1};
  s.block = {32, 8, 1};
  run("transpose", s, Params().add(device_.upload(in)).add(out).add(rows).add(columns));
  const auto got = device_.download<float>(out, rows * columns);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) ASSERT_EQ(got[c * rows + r], in[r * columns + c]);
}

TEST_P(Kernels, CooperativeGroupTiles) {
  std::vector<int> in(64), want(64);
  for (int i = 0; i < 64; ++i) want[i] = (in[i] = i * i % 13) + (i % 16 == 0 ? 0 : want[i - 1]);
  const uint64_t out = device_.allocate(64 * 4);
  run("scan_tiles", shape(1, 64), Params().add(device_.upload(in)).add(out));
  EXPECT_EQ(device_.download<int>(out, 64), want);
}

TEST_P(Kernels, StructuresAndFunctionPointers) {
  struct Options {
    float scale;
    int offsets[4];
    bool negate;
  } options = {2.5f, {1, 5, 0, 9}, true};
  const int n = 50;
  const auto in = random_floats(n);
  const uint64_t out = device_.allocate(n * 4);
  run("structures", shape(1, 64), Params().add(options).add(device_.upload(in)).add(out).add(n));
  std::vector<double> want;
  for (int i = 0; i < n; ++i) {
    int order[8];
    for (int k = 0; k < 8; ++k) order[(k * 3 + i) % 8] = k;
    const float x = -in[(i + options.offsets[i % 4] + order[i % 8]) % n] * 2.5f;
    want.push_back(i % 2 == 0 ? x + 1 : x * x);
  }
  expect_close(device_.download<float>(out, n), want, 1e-6);
}

TEST_P(Kernels, EmbeddingGather) {
  const int width = 70;
  const auto table = random_floats(9 * width);
  const std::vector<int64_t> ids = {4, 8, -1, 0, 4};
  const uint64_t out = device_.allocate(ids.size() * width * 4);
  run("gather", shape(5, 32),
      Params().add(device_.upload(table)).add(device_.upload(ids)).add(out).add(width));
  std::vector<double> want;
  for (int64_t id : ids)
    for (int i = 0; i < width; ++i) {
      double v = id < 0 ? 0 : static_cast<double>(table[id * width + i]);
      for (int k = 0; k < i % 5; ++k) v = v * 0.5 + 1;
      want.push_back(v);
    }
  expect_close(device_.download<float>(out, want.size()), want, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Dialects, Kernels, testing::Values("75", "80", "90"));

// ---- tensor core instructions: 16x8 tiles

class Matrix : public testing::Test {
 protected:
  void SetUp() override {
    program_ = device_.load(read_file(std::string(GACER_KERNEL_PTX) + "/matrix_80.ptx"));
    ASSERT_NE(program_, nullptr);
    for (int i = 0; i < 256; ++i) a_[i] = (i * 7 % 23 - 11) * 0.25;
    for (int i = 0; i < 128; ++i) b_[i] = (i * 5 % 19 - 9) * 0.5;
    for (int i = 0; i < 128; ++i) c_[i] = i * 0.125;
  }
  // Exact: all values are small multiples of powers of two.
  std::vector<float> expected(int depth) const {
    std::vector<float> out(128);
    for (int m = 0; m < 16; ++m)
      for (int n = 0; n < 8; ++n) {
        double sum = c_[m * 8 + n];
        for (int k = 0; k < depth; ++k) sum += a_[m * 16 + k] * b_[k * 8 + n];
        out[m * 8 + n] = static_cast<float>(sum);
      }
    return out;
  }
  template <typename T>
  std::vector<T> converted(const double* from, int count,
                           const std::function<uint64_t(double)>& convert) const {
    std::vector<T> out(count);
    for (int i = 0; i < count; ++i) out[i] = static_cast<T>(convert(from[i]));
    return out;
  }
  template <typename T, typename C>
  std::vector<C> run(const char* kernel, const std::vector<T>& a, const std::vector<T>& b,
                     const std::vector<C>& c) {
    const uint64_t out = device_.upload(c);
    const Fault fault =
        device_.launch(*program_, kernel, shape(1, 32),
                       Params().add(device_.upload(a)).add(device_.upload(b)).add(out));
    EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
    return device_.download<C>(out, c.size());
  }
  std::vector<float> floats(const double* from, int count) const {
    return std::vector<float>(from, from + count);
  }
  Device device_;
  std::shared_ptr<Program> program_;
  double a_[256], b_[128], c_[128];
};

const auto kHalf = [](double v) { return to_half(v); };
const auto kBf16 = [](double v) { return to_bf16(v); };

TEST_F(Matrix, HalfInputs) {
  const auto got = run("mma_f16", converted<uint16_t>(a_, 256, kHalf),
                       converted<uint16_t>(b_, 128, kHalf), floats(c_, 128));
  EXPECT_EQ(got, expected(16));
}

TEST_F(Matrix, FragmentsByLdmatrix) {
  const auto got = run("mma_ldmatrix", converted<uint16_t>(a_, 256, kHalf),
                       converted<uint16_t>(b_, 128, kHalf), floats(c_, 128));
  EXPECT_EQ(got, expected(16));
}

TEST_F(Matrix, Bfloat16Inputs) {
  const auto got = run("mma_bf16", converted<uint16_t>(a_, 256, kBf16),
                       converted<uint16_t>(b_, 128, kBf16), floats(c_, 128));
  EXPECT_EQ(got, expected(8));
}

TEST_F(Matrix, Tf32Inputs) {
  const auto got = run("mma_tf32", floats(a_, 256), floats(b_, 128), floats(c_, 128));
  EXPECT_EQ(got, expected(8));
}

TEST_F(Matrix, HalfSums) {
  const auto got = run("mma_half_sum", converted<uint16_t>(a_, 256, kHalf),
                       converted<uint16_t>(b_, 128, kHalf), converted<uint16_t>(c_, 128, kHalf));
  const auto want = expected(16);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(got[i], to_half(want[i])) << i;
}

TEST_F(Matrix, ByteInputs) {
  std::vector<int8_t> a(256), b(128);
  std::vector<int> c(128), want(128);
  for (int i = 0; i < 256; ++i) a[i] = static_cast<int8_t>(i * 37 % 256 - 128);
  for (int i = 0; i < 128; ++i) b[i] = static_cast<int8_t>(i * 91 % 256 - 128);
  for (int i = 0; i < 128; ++i) c[i] = i * 1000;
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n) {
      want[m * 8 + n] = c[m * 8 + n];
      for (int k = 0; k < 16; ++k) want[m * 8 + n] += a[m * 16 + k] * b[k * 8 + n];
    }
  EXPECT_EQ(run("mma_s8", a, b, c), want);
}

TEST_F(Matrix, NeedsAWholeWarp) {
  const uint64_t buffer = device_.allocate(1024);
  const Fault fault = device_.launch(*program_, "mma_f16", shape(1, 16),
                                     Params().add(buffer).add(buffer).add(buffer));
  EXPECT_EQ(fault.kind, FaultKind::kUnsupported);
  EXPECT_THAT(fault.message, testing::HasSubstr("all 32 lanes"));
}

}  // namespace
}  // namespace gacer::simdevice::test
