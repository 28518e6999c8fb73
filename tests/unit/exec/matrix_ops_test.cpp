// SPDX-License-Identifier: Apache-2.0
// Every form of mma.sync against a product computed on the host. The places of elements are written
// down here as the ISA lists them, form by form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

enum class Kind { kF16, kBf16, kTf32, kF32, kF64, kE4m3, kE5m2, kS8, kU8, kS4, kU4, kB1, kS32 };

struct KindRow {
  Kind kind;
  const char* name;
  uint32_t bits;
};
constexpr KindRow kKinds[] = {
    {Kind::kF16, "f16", 16},  {Kind::kBf16, "bf16", 16}, {Kind::kTf32, "tf32", 32},
    {Kind::kF32, "f32", 32},  {Kind::kF64, "f64", 64},   {Kind::kE4m3, "e4m3", 8},
    {Kind::kE5m2, "e5m2", 8}, {Kind::kS8, "s8", 8},      {Kind::kU8, "u8", 8},
    {Kind::kS4, "s4", 4},     {Kind::kU4, "u4", 4},      {Kind::kB1, "b1", 1},
    {Kind::kS32, "s32", 32},
};
const KindRow& row_of(Kind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

double fp8_value(uint32_t code, uint32_t fraction_bits) {
  const uint32_t exponent = code >> fraction_bits & ((1u << (7 - fraction_bits)) - 1);
  const uint32_t fraction = code & ((1u << fraction_bits) - 1);
  const int bias = fraction_bits == 3 ? 7 : 15;
  const double value =
      exponent == 0
          ? std::ldexp(fraction, 1 - bias - static_cast<int>(fraction_bits))
          : std::ldexp(fraction + (1 << fraction_bits),
                       static_cast<int>(exponent) - bias - static_cast<int>(fraction_bits));
  return (code & 0x80) != 0 ? -value : value;
}

uint64_t encode(Kind kind, double value) {
  switch (kind) {
    case Kind::kF16:
      return to_half(value);
    case Kind::kBf16:
      return to_bf16(value);
    case Kind::kTf32:
    case Kind::kF32:
      return bits_of(static_cast<float>(value));
    case Kind::kF64:
      return bits_of(value);
    case Kind::kE4m3:
    case Kind::kE5m2: {
      for (uint32_t code = 0; code < 256; ++code)
        if (fp8_value(code, kind == Kind::kE4m3 ? 3 : 2) == value) return code;
      ADD_FAILURE() << value;
      return 0;
    }
    default:
      return static_cast<uint64_t>(static_cast<int64_t>(value)) &
             ((uint64_t{1} << row_of(kind).bits) - 1);
  }
}

double decode(Kind kind, uint64_t bits) {
  if (kind == Kind::kF16) return half_value(bits);
  if (kind == Kind::kF32) return f32(bits);
  if (kind == Kind::kF64) return f64(bits);
  return static_cast<int32_t>(bits);
}

struct At {
  uint32_t row, column;
};
using Place = At (*)(uint32_t lane, uint32_t i);

struct Form {
  const char* words;  // with %s for the types, and what follows them
  uint32_t m, n, k;
  Kind d, a, b, c;
  Place a_at, b_at;  // row and k, k and column
  const char* tail = "";
  int sm = 80;
};

// groupID and threadID_in_group of the ISA.
uint32_t g(uint32_t lane) {
  return lane >> 2;
}
uint32_t t(uint32_t lane) {
  return lane % 4;
}

At c_at(const Form& form, uint32_t lane, uint32_t i) {
  return {form.m == 8 || i < 2 ? g(lane) : g(lane) + 8, t(lane) * 2 + (i & 1)};
}

std::vector<Form> forms() {
  const Place a_half8 = [](uint32_t l, uint32_t i) {
    return At{i < 2 ? g(l) : g(l) + 8, t(l) * 2 + (i & 1)};
  };
  const Place b_half8 = [](uint32_t l, uint32_t i) { return At{t(l) * 2 + i, g(l)}; };
  const Place a_half16 = [](uint32_t l, uint32_t i) {
    return At{i < 2 || (i >= 4 && i < 6) ? g(l) : g(l) + 8, t(l) * 2 + (i & 1) + (i < 4 ? 0 : 8)};
  };
  const Place b_half16 = [](uint32_t l, uint32_t i) {
    return At{t(l) * 2 + (i & 1) + (i < 2 ? 0 : 8), g(l)};
  };
  const Place a_word4 = [](uint32_t l, uint32_t i) { return At{i == 0 ? g(l) : g(l) + 8, t(l)}; };
  const Place b_word4 = [](uint32_t l, uint32_t) { return At{t(l), g(l)}; };
  const Place a_word8 = [](uint32_t l, uint32_t i) {
    return At{i == 0 || i == 2 ? g(l) : g(l) + 8, i < 2 ? t(l) : t(l) + 4};
  };
  const Place b_word8 = [](uint32_t l, uint32_t i) { return At{i == 0 ? t(l) : t(l) + 4, g(l)}; };
  const Place a_word16 = [](uint32_t l, uint32_t i) {
    return At{i % 2 == 0 ? g(l) : g(l) + 8, i % 2 == 0 ? i * 2 + t(l) : i * 2 - 2 + t(l)};
  };
  const Place b_word16 = [](uint32_t l, uint32_t i) { return At{t(l) + i * 4, g(l)}; };
  const Place a_small = [](uint32_t l, uint32_t) { return At{g(l), t(l)}; };
  const Place a_byte8 = [](uint32_t l, uint32_t i) { return At{g(l), t(l) * 4 + i}; };
  const Place b_byte16 = [](uint32_t l, uint32_t i) { return At{t(l) * 4 + i, g(l)}; };
  const Place a_byte16 = [](uint32_t l, uint32_t i) {
    return At{i < 4 ? g(l) : g(l) + 8, t(l) * 4 + (i & 3)};
  };
  const Place a_byte32 = [](uint32_t l, uint32_t i) {
    return At{i < 4 || (i >= 8 && i < 12) ? g(l) : g(l) + 8, t(l) * 4 + (i & 3) + (i < 8 ? 0 : 16)};
  };
  const Place b_byte32 = [](uint32_t l, uint32_t i) {
    return At{t(l) * 4 + (i & 3) + (i < 4 ? 0 : 16), g(l)};
  };
  const Place a_nibble8 = [](uint32_t l, uint32_t i) { return At{g(l), t(l) * 8 + (i & 7)}; };
  const Place b_nibble32 = [](uint32_t l, uint32_t i) { return At{t(l) * 8 + (i & 7), g(l)}; };
  const Place a_nibble32 = [](uint32_t l, uint32_t i) {
    return At{i < 8 ? g(l) : g(l) + 8, t(l) * 8 + (i & 7)};
  };
  const Place a_nibble64 = [](uint32_t l, uint32_t i) {
    return At{i < 8 || (i >= 16 && i < 24) ? g(l) : g(l) + 8,
              t(l) * 8 + (i & 7) + (i < 16 ? 0 : 32)};
  };
  const Place b_nibble64 = [](uint32_t l, uint32_t i) {
    return At{t(l) * 8 + (i & 7) + (i < 8 ? 0 : 32), g(l)};
  };
  const Place a_bit8 = [](uint32_t l, uint32_t i) { return At{g(l), t(l) * 32 + i}; };
  const Place b_bit128 = [](uint32_t l, uint32_t i) { return At{t(l) * 32 + i, g(l)}; };
  const Place a_bit16 = [](uint32_t l, uint32_t i) {
    return At{i < 32 ? g(l) : g(l) + 8, t(l) * 32 + (i & 31)};
  };
  const Place a_bit256 = [](uint32_t l, uint32_t i) {
    return At{i < 32 || (i >= 64 && i < 96) ? g(l) : g(l) + 8,
              t(l) * 32 + (i & 31) + (i < 64 ? 0 : 128)};
  };
  const Place b_bit256 = [](uint32_t l, uint32_t i) {
    return At{t(l) * 32 + (i & 31) + (i < 32 ? 0 : 128), g(l)};
  };

  using enum Kind;
  std::vector<Form> out;
  for (Kind sum : {kF32, kF16}) {
    out.push_back({"m16n8k8.row.col", 16, 8, 8, sum, kF16, kF16, sum, a_half8, b_half8});
    out.push_back({"m16n8k16.row.col", 16, 8, 16, sum, kF16, kF16, sum, a_half16, b_half16});
    for (Kind a : {kE4m3, kE5m2})
      for (Kind b : {kE4m3, kE5m2}) {
        out.push_back({"m16n8k16.row.col", 16, 8, 16, sum, a, b, sum, a_byte16, b_byte16, "", 89});
        out.push_back({"m16n8k32.row.col", 16, 8, 32, sum, a, b, sum, a_byte32, b_byte32, "", 89});
      }
  }
  out.push_back({"m16n8k8.row.col", 16, 8, 8, kF32, kBf16, kBf16, kF32, a_half8, b_half8});
  out.push_back({"m16n8k16.row.col", 16, 8, 16, kF32, kBf16, kBf16, kF32, a_half16, b_half16});
  out.push_back({"m16n8k4.row.col", 16, 8, 4, kF32, kTf32, kTf32, kF32, a_word4, b_word4});
  out.push_back({"m16n8k8.row.col", 16, 8, 8, kF32, kTf32, kTf32, kF32, a_word8, b_word8});
  out.push_back({"m8n8k4.row.col", 8, 8, 4, kF64, kF64, kF64, kF64, a_small, b_word4});
  out.push_back({"m16n8k4.row.col", 16, 8, 4, kF64, kF64, kF64, kF64, a_word4, b_word4, "", 90});
  out.push_back({"m16n8k8.row.col", 16, 8, 8, kF64, kF64, kF64, kF64, a_word8, b_word8, "", 90});
  out.push_back(
      {"m16n8k16.row.col", 16, 8, 16, kF64, kF64, kF64, kF64, a_word16, b_word16, "", 90});
  for (const char* words : {"m8n8k16.row.col", "m8n8k16.row.col.satfinite"})
    for (Kind a : {kS8, kU8})
      for (Kind b : {kS8, kU8})
        out.push_back({words, 8, 8, 16, kS32, a, b, kS32, a_byte8, b_byte16});
  for (Kind a : {kS8, kU8})
    for (Kind b : {kS8, kU8}) {
      out.push_back({"m16n8k16.row.col", 16, 8, 16, kS32, a, b, kS32, a_byte16, b_byte16});
      out.push_back({"m16n8k32.row.col", 16, 8, 32, kS32, a, b, kS32, a_byte32, b_byte32});
    }
  for (Kind a : {kS4, kU4})
    for (Kind b : {kS4, kU4}) {
      out.push_back({"m8n8k32.row.col", 8, 8, 32, kS32, a, b, kS32, a_nibble8, b_nibble32});
      out.push_back({"m16n8k32.row.col", 16, 8, 32, kS32, a, b, kS32, a_nibble32, b_nibble32});
      out.push_back({"m16n8k64.row.col", 16, 8, 64, kS32, a, b, kS32, a_nibble64, b_nibble64});
    }
  for (const char* tail : {".xor.popc", ".and.popc"}) {
    out.push_back({"m8n8k128.row.col", 8, 8, 128, kS32, kB1, kB1, kS32, a_bit8, b_bit128, tail});
    out.push_back({"m16n8k128.row.col", 16, 8, 128, kS32, kB1, kB1, kS32, a_bit16, b_bit128, tail});
    out.push_back(
        {"m16n8k256.row.col", 16, 8, 256, kS32, kB1, kB1, kS32, a_bit256, b_bit256, tail});
  }
  return out;
}

// ---- running one

uint32_t register_count(uint32_t elements, uint32_t bits) {
  return elements * bits / (32 * (bits == 64 ? 64 : 32));
}

std::string register_list(const char* prefix, uint32_t count) {
  std::string out = "{";
  for (uint32_t i = 0; i < count; ++i) out += (i != 0 ? ", " : "") + (prefix + std::to_string(i));
  return out + "}";
}

// Every lane loads its registers (one 64-bit slot each) from `in`, in the order A, B, C, and stores
// D to `out`.
std::string kernel_of(const std::string& instruction, const std::vector<uint32_t>& counts,
                      const std::vector<uint32_t>& bits, const std::string& tail, int sm,
                      const char* version = "8.7") {
  std::string text = std::string(".version ") + version + "\n.target sm_" + std::to_string(sm) +
                     "\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in) {\n"
                     "  .reg .b64 ro, ri, i64;\n  .reg .b32 i32;\n";
  const char* names[] = {"d", "a", "b", "c", "e"};
  for (size_t i = 0; i < counts.size(); ++i)
    text += "  .reg .b" + std::to_string(bits[i]) + " " + names[i] + "<" +
            std::to_string(counts[i] + 1) + ">;\n";
  text +=
      "  ld.param.u64 ro, [out];\n  ld.param.u64 ri, [in];\n  mov.u32 i32, %tid.x;\n"
      "  mul.wide.u32 i64, i32, 8;\n  add.s64 ro, ro, i64;\n  add.s64 ri, ri, i64;\n";
  uint32_t slot = 0;
  for (size_t i = 1; i < counts.size(); ++i)
    for (uint32_t r = 0; r < counts[i]; ++r, ++slot)
      text += "  ld.global.b" + std::to_string(bits[i]) + " " + names[i] + std::to_string(r) +
              ", [ri+" + std::to_string(slot * 256) + "];\n";
  text += "  " + instruction + " " + register_list("d", counts[0]) + ", " +
          register_list("a", counts[1]) + ", " + register_list("b", counts[2]) + ", " +
          register_list("c", counts[3]) + tail + ";\n";
  for (uint32_t r = 0; r < counts[0]; ++r)
    text += "  st.global.b" + std::to_string(bits[0]) + " [ro+" + std::to_string(r * 256) + "], d" +
            std::to_string(r) + ";\n";
  return text + "  ret;\n}\n";
}

class Registers {
 public:
  Registers(uint32_t count, uint32_t bits) : bits_(bits), words_(size_t{count} * 32) {}
  void set(uint32_t lane, uint32_t i, uint64_t value) {
    const uint32_t per = bits_ == 64 ? 1 : 32 / bits_;
    words_[i / per * 32 + lane] |= value << (i % per * bits_);
  }
  uint64_t get(uint32_t lane, uint32_t i) const {
    const uint32_t per = bits_ == 64 ? 1 : 32 / bits_;
    const uint64_t word = words_[i / per * 32 + lane] >> (i % per * bits_);
    return bits_ == 64 ? word : word & ((uint64_t{1} << bits_) - 1);
  }
  std::vector<uint64_t>& words() { return words_; }

 private:
  uint32_t bits_;
  std::vector<uint64_t> words_;
};

using Dense = std::vector<std::vector<double>>;

Dense random_matrix(std::mt19937& random, uint32_t rows, uint32_t columns, Kind kind) {
  Dense out(rows, std::vector<double>(columns));
  for (auto& row : out)
    for (double& v : row) {
      const int x = static_cast<int>(random() % 16);
      v = kind == Kind::kB1 ? x & 1 : kind == Kind::kU4 || kind == Kind::kU8 ? x : x - 8;
      if (kind == Kind::kS8) v *= 16;
      if (kind == Kind::kU8) v *= 17;
    }
  return out;
}

double combine(const Form& form, double a, double b) {
  if (form.a != Kind::kB1) return a * b;
  const int x = static_cast<int>(a), y = static_cast<int>(b);
  return form.tail[1] == 'x' ? x ^ y : x & y;
}

std::vector<uint64_t> run(const std::string& ptx, std::vector<uint64_t> in, uint32_t out_count) {
  Device device;
  const auto program = device.load(ptx);
  if (program == nullptr) return {};
  const uint64_t out = device.allocate(out_count * 256);
  const Fault fault =
      device.launch(*program, "k", shape(1, 32), Params().add(out).add(device.upload(in)));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  return device.download<uint64_t>(out, size_t{out_count} * 32);
}

void check_form(const Form& form, uint32_t seed) {
  std::mt19937 random(seed);
  const Dense a = random_matrix(random, form.m, form.k, form.a);
  const Dense b = random_matrix(random, form.k, form.n, form.b);
  const Dense c = random_matrix(random, form.m, form.n, Kind::kF16);
  const uint32_t a_bits = row_of(form.a).bits, c_bits = row_of(form.c).bits;
  const uint32_t a_count = register_count(form.m * form.k, a_bits),
                 b_count = register_count(form.k * form.n, a_bits),
                 c_count = register_count(form.m * form.n, c_bits);
  Registers ra(a_count, a_bits), rb(b_count, a_bits), rc(c_count, c_bits);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < form.m * form.k / 32; ++i) {
      const At at = form.a_at(lane, i);
      ra.set(lane, i, encode(form.a, a[at.row][at.column]));
    }
    for (uint32_t i = 0; i < form.k * form.n / 32; ++i) {
      const At at = form.b_at(lane, i);
      rb.set(lane, i, encode(form.b, b[at.row][at.column]));
    }
    for (uint32_t i = 0; i < form.m * form.n / 32; ++i) {
      const At at = c_at(form, lane, i);
      rc.set(lane, i, encode(form.c, c[at.row][at.column]));
    }
  }
  std::vector<uint64_t> in = ra.words();
  in.insert(in.end(), rb.words().begin(), rb.words().end());
  in.insert(in.end(), rc.words().begin(), rc.words().end());
  const std::string instruction = std::string("mma.sync.aligned.") + form.words + "." +
                                  row_of(form.d).name + "." + row_of(form.a).name + "." +
                                  row_of(form.b).name + "." + row_of(form.c).name + form.tail;
  SCOPED_TRACE(instruction);
  const uint32_t wide = a_bits == 64 ? 64 : 32;
  Registers rd(c_count, c_bits);
  rd.words() = run(kernel_of(instruction, {c_count, a_count, b_count, c_count},
                             {wide, wide, wide, wide}, "", form.sm),
                   in, c_count);
  ASSERT_EQ(rd.words().size(), c_count * 32u);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < form.m * form.n / 32; ++i) {
      const At at = c_at(form, lane, i);
      double want = c[at.row][at.column];
      for (uint32_t k = 0; k < form.k; ++k) want += combine(form, a[at.row][k], b[k][at.column]);
      ASSERT_EQ(decode(form.d, rd.get(lane, i)), want) << "lane " << lane << " element " << i;
    }
}

TEST(MatrixForms, ComputeTheProduct) {
  for (const Form& form : forms())
    for (uint32_t seed : {1u, 2u}) check_form(form, seed);
}

// ---- m8n8k4 of halves: four products by quad pairs, layouts in the registers

uint32_t quad_lane_row(uint32_t lane) {
  return lane < 16 ? lane % 4 : lane % 4 + 4;
}

At quad_a(bool column, uint32_t lane, uint32_t i) {
  if (!column) return {quad_lane_row(lane), i};
  return {lane < 16 ? i : i + 4, lane % 4};
}
At quad_b(bool row, uint32_t lane, uint32_t i) {
  if (row) return {lane % 4, lane < 16 ? i : i + 4};
  return {i, quad_lane_row(lane)};
}
At quad_c(bool wide, uint32_t lane, uint32_t i) {
  if (!wide) return {quad_lane_row(lane), i};
  const uint32_t x = (lane & 1) + (i & 2);
  return {lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + (i & 1)};
}

void check_quads(bool a_column, bool b_row, bool wide) {
  std::mt19937 random(5);
  std::vector<Dense> a, b, c;
  for (int q = 0; q < 4; ++q) {
    a.push_back(random_matrix(random, 8, 4, Kind::kF16));
    b.push_back(random_matrix(random, 4, 8, Kind::kF16));
    c.push_back(random_matrix(random, 8, 8, Kind::kF16));
  }
  const Kind sum = wide ? Kind::kF32 : Kind::kF16;
  const uint32_t c_count = wide ? 8 : 4;
  Registers ra(2, 16), rb(2, 16), rc(c_count, wide ? 32 : 16), rd(c_count, wide ? 32 : 16);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t q = lane % 16 / 4;
    for (uint32_t i = 0; i < 4; ++i) {
      const At x = quad_a(a_column, lane, i), y = quad_b(b_row, lane, i);
      ra.set(lane, i, encode(Kind::kF16, a[q][x.row][x.column]));
      rb.set(lane, i, encode(Kind::kF16, b[q][y.row][y.column]));
    }
    for (uint32_t i = 0; i < 8; ++i) {
      const At x = quad_c(wide, lane, i);
      rc.set(lane, i, encode(sum, c[q][x.row][x.column]));
    }
  }
  std::vector<uint64_t> in = ra.words();
  in.insert(in.end(), rb.words().begin(), rb.words().end());
  in.insert(in.end(), rc.words().begin(), rc.words().end());
  const std::string name = row_of(sum).name;
  const std::string instruction = std::string("mma.sync.aligned.m8n8k4.") +
                                  (a_column ? "col." : "row.") + (b_row ? "row." : "col.") + name +
                                  ".f16.f16." + name;
  SCOPED_TRACE(instruction);
  rd.words() =
      run(kernel_of(instruction, {c_count, 2, 2, c_count}, {32, 32, 32, 32}, "", 70), in, c_count);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t q = lane % 16 / 4;
      const At at = quad_c(wide, lane, i);
      double want = c[q][at.row][at.column];
      for (uint32_t k = 0; k < 4; ++k) want += a[q][at.row][k] * b[q][k][at.column];
      ASSERT_EQ(decode(sum, rd.get(lane, i)), want) << "lane " << lane << " element " << i;
    }
}

TEST(MatrixForms, QuadPairsComputeFourProducts) {
  for (bool a_column : {false, true})
    for (bool b_row : {false, true})
      for (bool wide : {false, true}) check_quads(a_column, b_row, wide);
}

// ---- sums

// D of one m8n8k16 of s8 whose A and B are all `a` and `b`.
int32_t byte_sum(const char* flags, int a, int b, int32_t c) {
  const auto word = [](int v) { return static_cast<uint64_t>(v & 0xff) * 0x01010101u; };
  std::vector<uint64_t> in(32 * 4);
  for (int lane = 0; lane < 32; ++lane) {
    in[lane] = word(a);
    in[32 + lane] = word(b);
    in[64 + lane] = in[96 + lane] = static_cast<uint32_t>(c);
  }
  const auto out =
      run(kernel_of(std::string("mma.sync.aligned.m8n8k16.row.col") + flags + ".s32.s8.s8.s32",
                    {2, 1, 1, 2}, {32, 32, 32, 32}, "", 80),
          in, 2);
  return static_cast<int32_t>(out.at(5));
}

TEST(MatrixSums, IntegersWrapOrSaturate) {
  EXPECT_EQ(byte_sum("", 127, 127, 0x7fffffff), static_cast<int32_t>(0x7fffffffu + 127 * 127 * 16));
  EXPECT_EQ(byte_sum(".satfinite", 127, 127, 0x7fffffff), 0x7fffffff);
  EXPECT_EQ(byte_sum(".satfinite", -128, 127, -0x7ffffff0), -0x7fffffff - 1);
  EXPECT_EQ(byte_sum(".satfinite", 2, 3, -100), -4);
}

// One m16n8k16 of halves, C in single precision; random values of one magnitude.
TEST(MatrixSums, SinglePrecisionIsCloseToExact) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> values(-1, 1);
  double a[16][16], b[16][8], c[16][8];
  std::vector<uint64_t> in(32 * 10);
  for (auto& row : a)
    for (double& v : row) v = half_value(to_half(values(random)));
  for (auto& row : b)
    for (double& v : row) v = half_value(to_half(values(random)));
  for (auto& row : c)
    for (double& v : row) v = static_cast<float>(values(random));
  const auto pair = [](double lo, double hi) { return to_half(lo) | to_half(hi) << 16; };
  for (uint32_t l = 0; l < 32; ++l) {
    const uint32_t r = l / 4, k = l % 4 * 2;
    in[l] = pair(a[r][k], a[r][k + 1]);
    in[32 + l] = pair(a[r + 8][k], a[r + 8][k + 1]);
    in[64 + l] = pair(a[r][k + 8], a[r][k + 9]);
    in[96 + l] = pair(a[r + 8][k + 8], a[r + 8][k + 9]);
    in[128 + l] = pair(b[k][r], b[k + 1][r]);
    in[160 + l] = pair(b[k + 8][r], b[k + 9][r]);
    in[192 + l] = bits_of(static_cast<float>(c[r][k]));
    in[224 + l] = bits_of(static_cast<float>(c[r][k + 1]));
    in[256 + l] = bits_of(static_cast<float>(c[r + 8][k]));
    in[288 + l] = bits_of(static_cast<float>(c[r + 8][k + 1]));
  }
  const auto out = run(kernel_of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", {4, 4, 2, 4},
                                 {32, 32, 32, 32}, "", 80),
                       in, 4);
  for (uint32_t l = 0; l < 32; ++l)
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t r = l / 4 + 8 * (i / 2), n = l % 4 * 2 + i % 2;
      double want = c[r][n];
      for (int k = 0; k < 16; ++k) want += a[r][k] * b[k][n];
      EXPECT_NEAR(f32(out[i * 32 + l]), want, 2e-6);
    }
}

TEST(MatrixSums, DoublesAreFused) {
  // 1 + 2^-60 summed with -1 would lose the small part without a fused operation.
  std::vector<uint64_t> in(32 * 4);
  const double x = 1 + std::ldexp(1, -30);
  for (uint32_t l = 0; l < 32; ++l) {
    in[l] = bits_of(l % 4 == 0 ? x : 0.0);
    in[32 + l] = bits_of(l % 4 == 0 ? x : 0.0);
    in[64 + l] = in[96 + l] = bits_of(-(1 + std::ldexp(1, -29)));
  }
  const auto out = run(kernel_of("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", {2, 1, 1, 2},
                                 {64, 64, 64, 64}, "", 80),
                       in, 2);
  EXPECT_EQ(f64(out.at(0)), std::ldexp(1, -60));
}

// ---- sparse A

struct SparseForm {
  const char* words;
  Kind a, sum;
  uint32_t k, chunk, unit;  // half of each chunk is given, in runs of `unit`
  bool halves;              // two rows share a word
  uint32_t selectors;
  uint32_t per;  // elements per register
};

void check_sparse(const SparseForm& form, uint32_t selector) {
  SCOPED_TRACE(std::string(form.words) + " selector " + std::to_string(selector));
  std::mt19937 random(3 + selector);
  const uint32_t given = form.k / 2, chunks = form.k / form.chunk;
  const Dense packed = random_matrix(random, 16, given, form.a);
  const Dense b = random_matrix(random, form.k, 8, form.a);
  const Dense c = random_matrix(random, 16, 8, Kind::kF16);
  Dense a(16, std::vector<double>(form.k));
  std::vector<uint64_t> words(32, 0);
  const uint32_t picks = form.chunk / 2 / form.unit;
  for (uint32_t m = 0; m < 16; ++m)
    for (uint32_t q = 0; q < chunks; ++q) {
      const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
      uint32_t first = below(3);
      const uint32_t second = first + 1 + below(3 - first);
      uint32_t four = first | second << 2;
      if (picks == 1) {
        first = below(2);
        four = first != 0 ? 0b1110 : 0b0100;
      }
      const uint32_t index[] = {first, second};
      for (uint32_t p = 0; p < picks; ++p)
        for (uint32_t u = 0; u < form.unit; ++u)
          a[m][q * form.chunk + index[p] * form.unit + u] =
              packed[m][(q * picks + p) * form.unit + u];
      // Where CUTLASS's reordering of metadata leads to: 16 bits a row and lane for 16-bit and
      // wider types, 32 for narrower ones.
      const uint32_t group = m % 8 * 4;
      if (form.halves) {
        words[group + selector * (chunks / 4) + q / 4] |= uint64_t{four}
                                                          << (m / 8 * 16 + q % 4 * 4);
      } else {
        words[group + q / 8 * 2 + m / 8] |= uint64_t{four} << (q % 8 * 4);
      }
    }
  const uint32_t bits = row_of(form.a).bits;
  const uint32_t a_count = 16 * given / 32 / form.per, b_count = form.k * 8 / 32 / form.per;
  Registers ra(a_count, bits), rb(b_count, bits), rc(4, 32);
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t i = 0; i < 16 * given / 32; ++i) {
      const uint32_t r = i / form.per, k = 4 * form.per * (r / 2) + form.per * t(l) + i % form.per;
      ra.set(l, i, encode(form.a, packed[g(l) + 8 * (r % 2)][k]));
    }
    for (uint32_t i = 0; i < form.k * 8 / 32; ++i)
      rb.set(
          l, i,
          encode(form.a, b[4 * form.per * (i / form.per) + form.per * t(l) + i % form.per][g(l)]));
    for (uint32_t i = 0; i < 4; ++i)
      rc.set(l, i, encode(form.sum, c[g(l) + 8 * (i / 2)][t(l) * 2 + i % 2]));
  }
  std::vector<uint64_t> in = ra.words();
  in.insert(in.end(), rb.words().begin(), rb.words().end());
  in.insert(in.end(), rc.words().begin(), rc.words().end());
  in.insert(in.end(), words.begin(), words.end());
  const std::string sum = row_of(form.sum).name, type = row_of(form.a).name;
  const std::string instruction = std::string("mma.sp::ordered_metadata.sync.aligned.") +
                                  form.words + ".row.col." + sum + "." + type + "." + type + "." +
                                  sum;
  const auto out = run(kernel_of(instruction, {4, a_count, b_count, 4, 1}, {32, 32, 32, 32, 32},
                                 ", e0, " + std::to_string(selector), form.per == 4 ? 89 : 80),
                       in, 4);
  for (uint32_t l = 0; l < 32; ++l)
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t m = g(l) + 8 * (i / 2), n = t(l) * 2 + i % 2;
      double want = c[m][n];
      for (uint32_t k = 0; k < form.k; ++k) want += a[m][k] * b[k][n];
      ASSERT_EQ(decode(form.sum, out[i * 32 + l] & 0xffffffff), want) << "lane " << l << " " << i;
    }
}

TEST(MatrixForms, SparseA) {
  using enum Kind;
  const SparseForm list[] = {
      {"m16n8k16", kF16, kF32, 16, 4, 1, true, 4, 2},
      {"m16n8k32", kBf16, kF32, 32, 4, 1, true, 2, 2},
      {"m16n8k8", kTf32, kF32, 8, 2, 1, true, 4, 1},
      {"m16n8k16", kTf32, kF32, 16, 2, 1, true, 2, 1},
      {"m16n8k64", kS8, kS32, 64, 4, 1, false, 1, 4},
      {"m16n8k64", kE4m3, kF32, 64, 4, 1, false, 1, 4},
      {"m16n8k128", kU4, kS32, 128, 8, 2, false, 1, 8},
  };
  for (const SparseForm& form : list)
    for (uint32_t s = 0; s < form.selectors; ++s) check_sparse(form, s);
}

// ---- refusals and counters

std::string one(const std::string& instruction) {
  return std::string(
             ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry k() {\n"
             "  .reg .b32 r<9>;\n  .reg .b64 d<5>;\n  ") +
         instruction + "\n  ret;\n}\n";
}

TEST(MatrixForms, OthersAreRefusedWithTheirLine) {
  for (const char* text :
       {"mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 {r0,r1,r2,r3}, {r0,r1,r2,r3}, {r0,r1}, "
        "{r0,r1,r2,r3};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {r0,r1,r2,r3}, {r0,r1,r2,r3}, "
        "{r0,r1}, {r0,r1,r2,r3};",
        "mma.sync.aligned.m16n8k16.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {r0,r1,r2,r3}, "
        "{r0,r1,r2,r3}, {r0,r1}, {r0,r1,r2,r3};",
        "wmma.load.a.sync.aligned.col.m8n8k128.b1 {r0}, [d0];",
        "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {r0}, d0, d1, r0;"})
    EXPECT_THAT(compile_error(one(text)),
                testing::AllOf(testing::HasSubstr("line 7"), testing::HasSubstr("not supported")))
        << text;
}

uint64_t tensor_units(const std::string& instruction) {
  Device device;
  const auto program = device.load(one(instruction + " " + instruction));
  if (program == nullptr) return 0;
  const Fault fault = device.launch(*program, "k", shape(1, 32), Params());
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  return device.counters.tensor_warp;
}

TEST(MatrixForms, CountByTheirWork) {
  EXPECT_EQ(tensor_units("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {r0,r1,r2,r3}, "
                         "{r0,r1,r2,r3}, {r0,r1}, {r0,r1,r2,r3};"),
            2u);
  EXPECT_EQ(tensor_units("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {r0,r1,r2,r3}, {r0,r1}, "
                         "{r0}, {r0,r1,r2,r3};"),
            1u);
  EXPECT_EQ(tensor_units("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d0,d1}, {d2}, {d3}, "
                         "{d0,d1};"),
            4u);
}

// Lanes that come to the instruction by different ways take part together.
TEST(MatrixForms, LanesMeetAtTheInstruction) {
  Device device;
  const auto program = device.load(std::string(kHeader) + R"(.visible .entry k(.param .u64 out) {
  .reg .b32 t, a, d; .reg .pred p; .reg .b64 o, i;
  ld.param.u64 o, [out];
  mov.u32 t, %tid.x;
  mov.u32 a, t;
  setp.lt.u32 p, t, 16;
  @p bra LOW;
  add.u32 a, t, 0;
LOW:
  movmatrix.sync.aligned.m8n8.trans.b16 d, a;
  mul.wide.u32 i, t, 4;
  add.s64 o, o, i;
  st.global.u32 [o], d;
  ret;
})");
  ASSERT_NE(program, nullptr);
  const uint64_t out = device.allocate(128);
  const Fault fault = device.launch(*program, "k", shape(1, 32), Params().add(out));
  ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  const auto got = device.download<uint16_t>(out, 64);
  // Element (row, column) was (column even ? lane row*4 + column/2 : 0).
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t column = 0; column < 8; ++column) {
      const uint32_t want = row % 2 == 0 ? column * 4 + row / 2 : 0;
      EXPECT_EQ(got[row * 8 + column], want);
    }
}

}  // namespace
}  // namespace gacer::simdevice::test
