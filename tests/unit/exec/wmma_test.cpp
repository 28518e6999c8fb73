// SPDX-License-Identifier: Apache-2.0
// nvcuda::wmma as nvcc compiles it, against products on the host.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

std::string ptx() {
  std::ifstream file(std::string(GACER_KERNEL_PTX) + "/wmma_80.ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Element {
  const char* name;
  uint32_t bytes;
  uint64_t (*encode)(double);
  double (*decode)(uint64_t);
};
const Element kHalf = {"f16", 2, [](double v) { return to_half(v); }, half_value};
const Element kBf16 = {"bf16", 2, [](double v) { return to_bf16(v); }, bf16_value};
const Element kFloat = {"f32", 4, [](double v) { return bits_of(static_cast<float>(v)); },
                        [](uint64_t b) { return double{f32(b)}; }};
const Element kTf32 = {"tf32", 4, kFloat.encode, kFloat.decode};
const Element kDouble = {"f64", 8, [](double v) { return bits_of(v); }, f64};
const Element kByte = {"s8", 1, [](double v) { return static_cast<uint64_t>(static_cast<int>(v)); },
                       nullptr};
const Element kUnsignedByte = {
    "u8", 1, [](double v) { return static_cast<uint64_t>(static_cast<int>(v) & 255); }, nullptr};
const Element kInt = {"s32", 4, kByte.encode, [](uint64_t b) {
                        return double{static_cast<double>(static_cast<int32_t>(b))};
                      }};

struct Matrix {
  uint32_t rows, columns;
  std::vector<double> values;  // row-major
  double at(uint32_t r, uint32_t c) const { return values[r * columns + c]; }
};

Matrix random_matrix(std::mt19937& random, uint32_t rows, uint32_t columns, bool is_unsigned) {
  Matrix out{rows, columns, {}};
  for (uint32_t i = 0; i < rows * columns; ++i)
    out.values.push_back(static_cast<int>(random() % 16) - (is_unsigned ? 0 : 8));
  return out;
}

std::vector<uint8_t> to_memory(const Matrix& m, const Element& type, bool by_column) {
  std::vector<uint8_t> out(m.values.size() * type.bytes);
  for (uint32_t r = 0; r < m.rows; ++r)
    for (uint32_t c = 0; c < m.columns; ++c) {
      const uint64_t bits = type.encode(m.at(r, c));
      const size_t at = by_column ? size_t{c} * m.rows + r : size_t{r} * m.columns + c;
      std::memcpy(&out[at * type.bytes], &bits, type.bytes);
    }
  return out;
}

double from_memory(const std::vector<uint8_t>& bytes, const Element& type, size_t at) {
  uint64_t bits = 0;
  std::memcpy(&bits, &bytes[at * type.bytes], type.bytes);
  return type.decode(bits);
}

class Wmma : public testing::Test {
 protected:
  void SetUp() override {
    program_ = device_.load(ptx());
    ASSERT_NE(program_, nullptr);
  }

  void check(const Element& type, const Element& sum, uint32_t m, uint32_t n, uint32_t k) {
    for (bool a_column : {false, true})
      for (bool b_column : {false, true}) check(type, sum, m, n, k, a_column, b_column);
  }

  void check(const Element& type, const Element& sum, uint32_t m, uint32_t n, uint32_t k,
             bool a_column, bool b_column) {
    const bool is_unsigned = type.name[0] == 'u', c_column = a_column != b_column;
    const Matrix a = random_matrix(random_, m, k, is_unsigned),
                 b = random_matrix(random_, k, n, is_unsigned),
                 c = random_matrix(random_, m, n, false);
    const std::string kernel = std::string(type.name) + "_" + sum.name + "_" + std::to_string(m) +
                               "x" + std::to_string(n) + "x" + std::to_string(k) + "_" +
                               (a_column ? "c" : "r") + (b_column ? "c" : "r");
    SCOPED_TRACE(kernel);
    const uint64_t d = device_.allocate(size_t{m} * n * sum.bytes);
    const Fault fault = device_.launch(*program_, kernel, shape(1, 32),
                                       Params()
                                           .add(device_.upload(to_memory(a, type, a_column)))
                                           .add(device_.upload(to_memory(b, type, b_column)))
                                           .add(device_.upload(to_memory(c, sum, c_column)))
                                           .add(d));
    ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
    const auto got = device_.download<uint8_t>(d, size_t{m} * n * sum.bytes);
    for (uint32_t row = 0; row < m; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        double want = c.at(row, column);
        for (uint32_t i = 0; i < k; ++i) want += a.at(row, i) * b.at(i, column);
        const size_t at = c_column ? size_t{column} * m + row : size_t{row} * n + column;
        ASSERT_EQ(from_memory(got, sum, at), want) << row << "," << column;
      }
  }

  void check_shapes(const Element& type, const Element& sum) {
    check(type, sum, 16, 16, 16);
    check(type, sum, 8, 32, 16);
    check(type, sum, 32, 8, 16);
  }

  // Elements of `bits` bits, packed along k.
  void check_packed(const char* kernel, uint32_t bits, uint32_t k,
                    const std::function<int(int, int)>& combine, bool is_signed) {
    SCOPED_TRACE(kernel);
    const uint32_t words = k * bits / 32;
    std::vector<uint32_t> a(8 * words), b(8 * words);
    for (auto* list : {&a, &b})
      for (uint32_t& w : *list) w = static_cast<uint32_t>(random_());
    std::vector<int> c(64);
    for (int& v : c) v = static_cast<int>(random_() % 1000) - 500;
    const uint64_t d = device_.allocate(256);
    const Fault fault = device_.launch(
        *program_, kernel, shape(1, 32),
        Params().add(device_.upload(a)).add(device_.upload(b)).add(device_.upload(c)).add(d));
    ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
    const auto element = [&](const std::vector<uint32_t>& from, uint32_t line, uint32_t i) {
      const uint32_t per = 32 / bits;
      const int v =
          static_cast<int>(from[line * words + i / per] >> (i % per * bits) & ((1u << bits) - 1));
      return is_signed && v >= 1 << (bits - 1) ? v - (1 << bits) : v;
    };
    const auto got = device_.download<int>(d, 64);
    for (uint32_t row = 0; row < 8; ++row)
      for (uint32_t column = 0; column < 8; ++column) {
        int want = c[row * 8 + column];
        for (uint32_t i = 0; i < k; ++i) want += combine(element(a, row, i), element(b, column, i));
        EXPECT_EQ(got[row * 8 + column], want);
      }
  }

  Device device_;
  std::shared_ptr<Program> program_;
  std::mt19937 random_{17};
};

TEST_F(Wmma, HalvesWithSingleSums) {
  check_shapes(kHalf, kFloat);
}
TEST_F(Wmma, HalvesWithHalfSums) {
  check_shapes(kHalf, kHalf);
}
TEST_F(Wmma, Bfloat16) {
  check_shapes(kBf16, kFloat);
}
TEST_F(Wmma, Bytes) {
  check_shapes(kByte, kInt);
  check_shapes(kUnsignedByte, kInt);
}
TEST_F(Wmma, Tf32) {
  check(kTf32, kFloat, 16, 16, 8);
}
TEST_F(Wmma, Doubles) {
  check(kDouble, kDouble, 8, 8, 4);
}

TEST_F(Wmma, PackedElements) {
  const auto times = [](int x, int y) { return x * y; };
  check_packed("packed_s4", 4, 32, times, true);
  check_packed("packed_u4", 4, 32, times, false);
  check_packed(
      "packed_xor", 1, 128, [](int x, int y) { return x ^ y; }, false);
  check_packed(
      "packed_and", 1, 128, [](int x, int y) { return x & y; }, false);
}

TEST_F(Wmma, TiledProductThroughSharedMemory) {
  const Matrix a = random_matrix(random_, 64, 64, false), b = random_matrix(random_, 64, 64, false);
  const uint64_t d = device_.allocate(64 * 64 * 4);
  LaunchShape grid = shape(4, 32);
  grid.grid[1] = 4;
  const Fault fault = device_.launch(*program_, "tiled", grid,
                                     Params()
                                         .add(device_.upload(to_memory(a, kHalf, false)))
                                         .add(device_.upload(to_memory(b, kHalf, false)))
                                         .add(d)
                                         .add(0.5f));
  ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  const auto got = device_.download<float>(d, 64 * 64);
  for (uint32_t r = 0; r < 64; ++r)
    for (uint32_t c = 0; c < 64; ++c) {
      double want = 0;
      for (uint32_t k = 0; k < 64; ++k) want += a.at(r, k) * b.at(k, c);
      ASSERT_EQ(got[r * 64 + c], want * 0.5) << r << "," << c;
    }
  EXPECT_EQ(device_.counters.tensor_warp, 16u * 4 * 2);
}

TEST_F(Wmma, MatrixOutsideMemoryIsAFault) {
  const Fault fault = device_.launch(*program_, "f16_f32_16x16x16_rr", shape(1, 32),
                                     Params()
                                         .add(uint64_t{0x1000})
                                         .add(uint64_t{0x1000})
                                         .add(uint64_t{0x1000})
                                         .add(uint64_t{0x1000}));
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress) << fault.message;
}

}  // namespace
}  // namespace gacer::simdevice::test
