// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/exec/harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gacer::simdevice::test {

uint64_t Device::allocate(size_t bytes) {
  const uint64_t address = next_;
  buffers_[address].resize(bytes);
  next_ += (bytes + 0xffff) / 0x10000 * 0x10000 + 0x10000;
  return address;
}

AddressSpace Device::space() {
  std::vector<MemoryRegion> regions;
  for (auto& [address, bytes] : buffers_) regions.push_back({address, bytes.size(), bytes.data()});
  return AddressSpace(std::move(regions));
}

std::shared_ptr<Program> Device::load(const std::string& ptx) {
  auto program = Program::compile(ptx, 90);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message) << "\n"
                            << ptx.substr(0, 2000);
  if (!program.ok()) return nullptr;
  std::vector<uint64_t> addresses;
  for (const auto& g : (*program)->globals()) addresses.push_back(allocate(g.bytes));
  (*program)->bind_globals(addresses);
  for (const auto& g : (*program)->globals()) {
    if (!g.initial.empty()) std::memcpy(host(g.address), g.initial.data(), g.initial.size());
    for (const auto& [offset, index] : g.relocations) {
      uint64_t value = 0;
      std::memcpy(&value, host(g.address) + offset, 8);
      value += addresses[index];
      std::memcpy(host(g.address) + offset, &value, 8);
    }
  }
  return *program;
}

Fault Device::launch(Program& program, const std::string& kernel, LaunchShape launch_shape,
                     const Params& params, uint64_t budget) {
  const AddressSpace memory = space();
  for (uint32_t k = 0; k < program.kernels().size(); ++k) {
    if (program.kernels()[k].name != kernel) continue;
    EXPECT_EQ(program.kernels()[k].param_bytes, params.bytes().size());
    for (uint64_t b = 0; b < launch_shape.block_count(); ++b) {
      const Fault fault = program.run_block(k, launch_shape, b, params.bytes().data(), memory, {},
                                            budget, counters);
      if (fault.kind != FaultKind::kNone) return fault;
    }
    return {};
  }
  ADD_FAILURE() << "no kernel " << kernel;
  return {};
}

LaunchShape shape(uint32_t blocks, uint32_t threads, uint32_t dynamic_smem_bytes) {
  LaunchShape out;
  out.grid[0] = blocks;
  out.block[0] = threads;
  out.dynamic_smem_bytes = dynamic_smem_bytes;
  return out;
}

std::string compile_error(const std::string& ptx, int target_sm) {
  const auto program = Program::compile(ptx, target_sm);
  return program.ok() ? "" : program.error().message;
}

namespace {

// Runs the body twice: in all lanes, and under a guard that only odd threads pass.
std::string op_kernel(const std::string& body, int bits) {
  std::string text = kHeader;
  text += R"(.visible .entry k(.param .u64 out, .param .u64 in) {
  .reg .b64 ro, ri, i64, a64, b64, c64, d64, g64, t64<4>;
  .reg .b32 tid, cta, ntid, i32, one, a32, b32, c32, d32, t32<8>;
  .reg .b16 a16, b16, c16, d16, t16<8>;
  .reg .f32 af32, bf32, cf32, df32;
  .reg .f64 af64, bf64, cf64, df64;
  .reg .pred pa, pb, pc, pd, pq, odd, t1<4>;
  ld.param.u64 ro, [out];
  ld.param.u64 ri, [in];
  mov.u32 tid, %tid.x;
  mov.u32 cta, %ctaid.x;
  mov.u32 ntid, %ntid.x;
  mad.lo.s32 i32, cta, ntid, tid;
  mul.wide.u32 i64, i32, 24;
  add.s64 ri, ri, i64;
  mul.wide.u32 i64, i32, 16;
  add.s64 ro, ro, i64;
  ld.global.b64 a64, [ri];
  ld.global.b64 b64, [ri+8];
  ld.global.b64 c64, [ri+16];
  cvt.u32.u64 a32, a64;
  cvt.u32.u64 b32, b64;
  cvt.u32.u64 c32, c64;
  cvt.u16.u32 a16, a32;
  cvt.u16.u32 b16, b32;
  cvt.u16.u32 c16, c32;
  mov.b32 af32, a32;
  mov.b32 bf32, b32;
  mov.b32 cf32, c32;
  mov.b64 af64, a64;
  mov.b64 bf64, b64;
  mov.b64 cf64, c64;
  and.b32 one, a32, 1;
  setp.ne.u32 pa, one, 0;
  and.b32 one, b32, 1;
  setp.ne.u32 pb, one, 0;
  and.b32 one, c32, 1;
  setp.ne.u32 pc, one, 0;
  mov.u64 g64, 0;
)";
  const auto store = [&](int offset) {
    if (bits == 1) text += "  selp.u32 d32, 1, 0, pd;\n  cvt.u64.u32 g64, d32;\n";
    if (bits == 16) text += "  cvt.u64.u16 g64, d16;\n";
    if (bits == 32) text += "  cvt.u64.u32 g64, d32;\n";
    if (bits == 64) text += "  mov.b64 g64, d64;\n";
    text += "  st.global.u64 [ro+" + std::to_string(offset) + "], g64;\n";
  };
  text += body + "\n";
  store(0);
  text +=
      "  mov.u64 d64, 0x5555555555555555;\n  mov.u32 d32, 0x55555555;\n  mov.u16 d16, 0x5555;\n  "
      "setp.eq.u32 pd, 0, 0;\n";
  text += "  and.b32 one, tid, 1;\n  setp.eq.u32 odd, one, 1;\n  @!odd bra SKIP;\n" + body +
          "\nSKIP:\n";
  store(8);
  return text + "  ret;\n}\n";
}

bool same_value(const OpCase& op, uint64_t got, uint64_t want) {
  if (got == want) return true;
  const auto both_nan = [](double x, double y) { return std::isnan(x) && std::isnan(y); };
  switch (op.compare) {
    case OpCase::kExact:
      return false;
    case OpCase::kHalf:
      return both_nan(half_value(got), half_value(want)) &&
             (op.bits == 16 || got >> 16 == want >> 16 ||
              both_nan(half_value(got >> 16), half_value(want >> 16)));
    case OpCase::kBf16:
      return both_nan(bf16_value(got), bf16_value(want));
    case OpCase::kFloat:
      return both_nan(f32(got), f32(want));
    case OpCase::kDouble:
      return both_nan(f64(got), f64(want));
    case OpCase::kFloatClose:
      return both_nan(f32(got), f32(want)) ||
             std::abs(f32(got) - f32(want)) <= 4e-7 * std::abs(f32(want)) + 1e-37;
  }
  return false;
}

std::vector<uint64_t> op_inputs(const std::vector<uint64_t>& special, size_t count) {
  std::mt19937_64 random(7);
  const auto one = [&] { return special[random() % special.size()]; };
  std::vector<uint64_t> inputs;
  for (uint64_t a : special)
    for (uint64_t b : special) inputs.insert(inputs.end(), {a, b, one()});
  while (inputs.size() < count * 3) {
    const uint64_t mix = random();
    for (int k = 0; k < 3; ++k) {
      uint64_t value = (mix >> k & 1) != 0 ? one() : random();
      if ((mix >> (4 + k) & 3) == 0) value = random() % 67;
      inputs.push_back(value);
    }
  }
  return inputs;
}

}  // namespace

std::vector<OpResult> run_op(const std::string& body, int bits, std::vector<uint64_t> inputs) {
  constexpr uint32_t kThreads = 128;
  Device device;
  const auto program = device.load(op_kernel(body, bits));
  if (program == nullptr) return {};
  const size_t count = inputs.size() / 3;
  inputs.resize((count + kThreads) * 3);
  const uint64_t in = device.upload(inputs), out = device.allocate((count + kThreads) * 16);
  const Fault fault = device.launch(
      *program, "k", shape(static_cast<uint32_t>((count + kThreads - 1) / kThreads), kThreads),
      Params().add(out).add(in));
  EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  const auto words = device.download<uint64_t>(out, count * 2);
  std::vector<OpResult> results(count);
  for (size_t i = 0; i < count; ++i) results[i] = {words[2 * i], words[2 * i + 1]};
  return results;
}

void check_op(const OpCase& op, const std::vector<uint64_t>& special) {
  const std::vector<uint64_t> inputs = op_inputs(special, 1500);
  const auto results = run_op(op.body, op.bits, inputs);
  ASSERT_EQ(results.size(), inputs.size() / 3);
  const uint64_t keep = op.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << op.bits) - 1;
  for (size_t i = 0; i < results.size(); ++i) {
    const uint64_t a = inputs[3 * i], b = inputs[3 * i + 1], c = inputs[3 * i + 2];
    const uint64_t want = op.expected(a, b, c) & keep,
                   untouched = (op.bits == 1 ? 1 : kUntouched) & keep;
    EXPECT_TRUE(same_value(op, results[i].plain, want))
        << op.body << std::hex << " a " << a << " b " << b << " c " << c << " got "
        << results[i].plain << " want " << want;
    const uint64_t guarded = i % 2 == 1 ? want : untouched;
    EXPECT_TRUE(same_value(op, results[i].guarded, guarded))
        << "guarded " << op.body << std::hex << " a " << a << " b " << b << " c " << c << " got "
        << results[i].guarded << " want " << guarded;
    if (testing::Test::HasFailure()) return;
  }
}

namespace {

double small_float(uint64_t bits, int fraction_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const uint64_t fraction = bits & ((uint64_t{1} << fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> fraction_bits) & top;
  const double sign = (bits >> (fraction_bits + exponent_bits) & 1) != 0 ? -1 : 1;
  if (exponent == top) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  const double scaled =
      static_cast<double>(fraction + (exponent != 0 ? uint64_t{1} << fraction_bits : 0));
  return sign * std::ldexp(scaled, std::max(exponent, 1) - bias - fraction_bits);
}

uint64_t to_small_float(long double value, int fraction_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (fraction_bits + exponent_bits) : 0;
  if (std::isnan(value)) return (uint64_t{1} << (fraction_bits + exponent_bits)) - 1;
  const long double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | static_cast<uint64_t>(top) << fraction_bits;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const long double scaled = std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent));
  const uint64_t units = static_cast<uint64_t>(scaled);
  // Units carry into the exponent by themselves; a subnormal has no implicit one.
  const uint64_t code = units + (static_cast<uint64_t>(exponent + bias - 1) << fraction_bits);
  return sign | std::min(code, static_cast<uint64_t>(top) << fraction_bits);
}

}  // namespace

double half_value(uint64_t bits) {
  return small_float(bits & 0xffff, 10, 5);
}
double bf16_value(uint64_t bits) {
  return small_float(bits & 0xffff, 7, 8);
}
uint64_t to_half(long double value) {
  return to_small_float(value, 10, 5);
}
uint64_t to_bf16(long double value) {
  return to_small_float(value, 7, 8);
}

std::vector<uint64_t> special_ints() {
  return {0,
          1,
          2,
          7,
          31,
          32,
          33,
          63,
          64,
          255,
          0x7f,
          0x80,
          0x7fff,
          0x8000,
          0xffff,
          0x7fffffff,
          0x80000000,
          0xffffffff,
          0x100000000,
          0x7fffffffffffffff,
          0x8000000000000000,
          0xffffffffffffffff,
          0xfffffffffffffffe,
          0x123456789abcdef0,
          0xdeadbeef};
}

std::vector<uint64_t> special_floats() {
  std::vector<uint64_t> out;
  for (float v : {0.0f,   -0.0f,    1.0f,    -1.0f,     1.5f,          0.5f,          2.5f,
                  -2.5f,  3.14159f, 1e10f,   -1e10f,    1e-10f,        3e38f,         -3e38f,
                  1e-38f, 1e-40f,   -1e-40f, 1e-45f,    2147483648.0f, 4294967296.0f, 9.3e18f,
                  255.5f, 65504.0f, 0.1f,    HUGE_VALF, -HUGE_VALF,    std::nanf("")})
    out.push_back(bits_of(v));
  return out;
}

std::vector<uint64_t> special_doubles() {
  std::vector<uint64_t> out;
  for (double v : {0.0,          -0.0,
                   1.0,          -1.0,
                   1.5,          0.5,
                   2.5,          -2.5,
                   3.14159,      1e10,
                   -1e10,        1e-10,
                   1e300,        -1e300,
                   1e-300,       1e-310,
                   -1e-310,      2147483648.0,
                   4294967296.0, 9.3e18,
                   1.9e19,       65520.0,
                   65519.999,    1e-8,
                   6.1e-5,       3.4028235677973366e38,
                   HUGE_VAL,     -HUGE_VAL,
                   std::nan("")})
    out.push_back(bits_of(v));
  return out;
}

std::vector<uint64_t> special_halves() {
  std::vector<uint64_t> out;
  for (uint64_t v : {0x0000, 0x8000, 0x3c00, 0xbc00, 0x3e00, 0x0001, 0x8001, 0x03ff,
                     0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x5640,
                     0x1234, 0x3f80, 0x4049, 0x7f7f, 0x0080, 0x7f80, 0xff80})
    out.push_back(v | (v ^ 0x1234) << 16);
  return out;
}

}  // namespace gacer::simdevice::test
