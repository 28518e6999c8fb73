// SPDX-License-Identifier: Apache-2.0
// wgmma against products on the host, in all shared-memory layouts. The layouts are written here by
// walking over their pieces in memory order (blocks of rows, swizzled 16-byte pieces), where the
// code under test goes from element to address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

constexpr uint32_t kARegion = 16384, kShared = 2 * kARegion;

struct Layout {
  uint32_t swizzle = 0;  // bytes: 0, 32, 64, 128
  bool by_k = true;      // elements along k lie side by side
};

uint64_t descriptor(uint32_t start, uint32_t leading, uint32_t stride, uint32_t swizzle) {
  const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return uint64_t{start} >> 4 | uint64_t{leading} >> 4 << 16 | uint64_t{stride} >> 4 << 32 |
         mode << 62;
}

struct Packed {
  std::vector<uint8_t> bytes;
  uint64_t descriptor = 0;
};

// `lines` vectors of `length` elements; element(line, position) is the element's bits. Lines are
// rows of A or columns of B when by_k, else vectors along m or n, one for each k.
template <typename Element>
Packed pack(uint32_t lines, uint32_t length, uint32_t element_bytes, const Layout& layout,
            uint32_t start, Element element) {
  const uint32_t width = layout.swizzle == 0 ? 16 : layout.swizzle;  // bytes of a line in a block
  const uint32_t across = length * element_bytes / width, down = lines / 8;
  const uint32_t block = 8 * width;
  Packed out;
  out.bytes.resize(size_t{across} * down * block);
  for (uint32_t d = 0; d < down; ++d)
    for (uint32_t a = 0; a < across; ++a)
      for (uint32_t line = 0; line < 8; ++line)
        for (uint32_t piece = 0; piece < width / 16; ++piece)
          for (uint32_t i = 0; i < 16 / element_bytes; ++i) {
            // Blocks one below the other first.
            const uint32_t base = (a * down + d) * block;
            uint32_t place = piece;
            if (layout.swizzle == 128) place = piece ^ line;
            if (layout.swizzle == 64) place = piece ^ line / 2;
            if (layout.swizzle == 32) place = piece ^ line / 4;
            const uint64_t bits =
                element(d * 8 + line, (a * width + piece * 16) / element_bytes + i);
            std::memcpy(&out.bytes[base + line * width + place * 16 + i * element_bytes], &bits,
                        element_bytes);
          }
  const uint32_t next_down = block, next_across = down * block;
  // By k the stride goes from eight lines to the next eight, and the leading offset along them
  // (without swizzle); by m without swizzle they change places, with swizzle the leading offset
  // goes along the lines.
  const bool plain_by_m = !layout.by_k && layout.swizzle == 0;
  const uint32_t leading = plain_by_m ? next_down : next_across;
  const uint32_t stride = plain_by_m ? next_across : next_down;
  out.descriptor = descriptor(start, leading, stride, layout.swizzle);
  return out;
}

std::string list(const char* prefix, uint32_t count) {
  std::string out = "{";
  for (uint32_t i = 0; i < count; ++i) out += (i != 0 ? ", " : "") + (prefix + std::to_string(i));
  return out + "}";
}

// 128 threads copy `in` to shared memory, multiply, add (or not) and store D's registers.
std::string kernel(const std::string& words, uint32_t d_count, bool register_a,
                   const std::string& tail) {
  std::string text =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out, .param "
      ".u64 in,\n"
      "    .param .u64 da, .param .u64 db, .param .u32 plus) {\n"
      "  .shared .align 1024 .b8 s[" +
      std::to_string(kShared) +
      "];\n"
      "  .reg .b64 ro, ri, a, b, i64;\n  .reg .b32 t, i, v, w, add, r<4>, d<" +
      std::to_string(d_count) +
      ">;\n  .reg .pred p, q;\n"
      "  ld.param.u64 ro, [out];\n  ld.param.u64 ri, [in];\n  ld.param.u64 a, [da];\n  "
      "ld.param.u64 b, [db];\n"
      "  ld.param.u32 add, [plus];\n  setp.ne.u32 p, add, 0;\n  mov.u32 t, %tid.x;\n  shl.b32 i, "
      "t, "
      "2;\n"
      "LOOP:\n  cvt.u64.u32 i64, i;\n  add.s64 i64, i64, ri;\n  ld.global.u32 v, [i64];\n  mov.u32 "
      "w, s;\n"
      "  add.u32 w, w, i;\n  st.shared.u32 [w], v;\n  add.u32 i, i, 512;\n  setp.lt.u32 q, i, " +
      std::to_string(kShared) + ";\n  @q bra LOOP;\n  bar.sync 0;\n";
  // Registers of A for a row-major A of 16-bit elements, 16 wide, at the start of `in`.
  text +=
      "  shr.u32 i, t, 5;\n  shl.b32 i, i, 4;\n  and.b32 v, t, 31;\n  shr.u32 w, v, 2;\n  add.u32 "
      "i, i, w;\n"
      "  shl.b32 i, i, 5;\n  and.b32 v, v, 3;\n  shl.b32 v, v, 2;\n  add.u32 i, i, v;\n  mov.u32 "
      "w, s;\n  add.u32 w, w, i;\n"
      "  ld.shared.u32 r0, [w];\n  ld.shared.u32 r1, [w+256];\n  ld.shared.u32 r2, [w+16];\n  "
      "ld.shared.u32 r3, [w+272];\n";
  for (uint32_t i = 0; i < d_count; ++i) text += "  mov.b32 d" + std::to_string(i) + ", 0;\n";
  const std::string product = "  wgmma.mma_async.sync.aligned." + words + " " + list("d", d_count) +
                              ", " + (register_a ? "{r0, r1, r2, r3}" : "a") + ", b, p" + tail +
                              ";\n";
  text += "  wgmma.fence.sync.aligned;\n" + product + product +
          "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  text += "  mul.wide.u32 i64, t, 4;\n  add.s64 ro, ro, i64;\n";
  for (uint32_t i = 0; i < d_count; ++i)
    text += "  st.global.u32 [ro+" + std::to_string(i * 512) + "], d" + std::to_string(i) + ";\n";
  return text + "  ret;\n}\n";
}

struct Case {
  const char* words;
  uint32_t columns, depth, element_bytes;
  uint64_t (*encode)(int);
  bool float_sum;
  const char* scales;  // and layouts, after scale-d
  Layout a, b;
  bool register_a = false;
  int sign = 1;
};

uint64_t half_of(int v) {
  return to_half(v);
}
uint64_t bf16_of(int v) {
  return to_bf16(v);
}
uint64_t float_of(int v) {
  return bits_of(static_cast<float>(v));
}
uint64_t byte_of(int v) {
  return static_cast<uint8_t>(v);
}

void check(const Case& c, bool add) {
  SCOPED_TRACE(std::string(c.words) + " swizzles " + std::to_string(c.a.swizzle) + " " +
               std::to_string(c.b.swizzle) + (c.a.by_k ? "" : " A by m") +
               (c.b.by_k ? "" : " B by n"));
  std::mt19937 random(c.columns + c.a.swizzle + c.b.swizzle);
  std::vector<std::vector<int>> a(64, std::vector<int>(c.depth)),
      b(c.depth, std::vector<int>(c.columns));
  for (auto* m : {&a, &b})
    for (auto& row : *m)
      for (int& v : row) v = static_cast<int>(random() % 16) - 8;
  const auto at_a = [&](uint32_t m, uint32_t k) { return c.encode(a[m][k]); };
  const auto at_b = [&](uint32_t n, uint32_t k) { return c.encode(b[k][n]); };
  const auto swapped = [](auto f) { return [f](uint32_t k, uint32_t m) { return f(m, k); }; };
  const Packed pa = c.register_a ? Packed{}
                    : c.a.by_k   ? pack(64, c.depth, c.element_bytes, c.a, 0, at_a)
                                 : pack(c.depth, 64, c.element_bytes, c.a, 0, swapped(at_a));
  const Packed pb = c.b.by_k
                        ? pack(c.columns, c.depth, c.element_bytes, c.b, kARegion, at_b)
                        : pack(c.depth, c.columns, c.element_bytes, c.b, kARegion, swapped(at_b));
  std::vector<uint8_t> in(kShared);
  std::copy(pa.bytes.begin(), pa.bytes.end(), in.begin());
  for (uint32_t m = 0; c.register_a && m < 64; ++m)
    for (uint32_t k = 0; k < 16; ++k) {
      const uint64_t bits = at_a(m, k);
      std::memcpy(&in[(m * 16 + k) * 2], &bits, 2);
    }
  std::copy(pb.bytes.begin(), pb.bytes.end(), in.begin() + kARegion);
  Device device;
  const uint32_t count = c.columns / 2;
  const auto program = device.load(kernel(c.words, count, c.register_a, c.scales));
  ASSERT_NE(program, nullptr);
  const uint64_t out = device.allocate(size_t{count} * 512);
  const Fault fault = device.launch(*program, "k", shape(1, 128),
                                    Params()
                                        .add(out)
                                        .add(device.upload(in))
                                        .add(pa.descriptor)
                                        .add(pb.descriptor)
                                        .add(uint32_t{add}));
  ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
  const auto got = device.download<uint32_t>(out, size_t{count} * 128);
  for (uint32_t thread = 0; thread < 128; ++thread)
    for (uint32_t i = 0; i < count; ++i) {
      // The ISA: row = 16 warp + lane / 4 (+ 8), column = 8 (i / 4) + 2 (lane % 4) + i % 2.
      const uint32_t m = thread / 32 * 16 + thread % 32 / 4 + (i / 2 % 2) * 8;
      const uint32_t n = i / 4 * 8 + thread % 4 * 2 + i % 2;
      int want = 0;
      for (uint32_t k = 0; k < c.depth; ++k) want += a[m][k] * b[k][n];
      want *= c.sign * (add ? 2 : 1);
      const double value = c.float_sum
                               ? double{f32(got[i * 128 + thread])}
                               : static_cast<double>(static_cast<int32_t>(got[i * 128 + thread]));
      ASSERT_EQ(value, want) << "thread " << thread << " register " << i;
    }
}

TEST(Wgmma, HalvesInEveryLayout) {
  for (uint32_t swizzle : {0u, 32u, 64u, 128u}) {
    // 16 elements along k fill 32 bytes: wider swizzles need a longer matrix, of which k is a part.
    const Layout narrow{swizzle <= 32 ? swizzle : 32, true}, along_m{swizzle, false};
    check({"m64n64k16.f32.f16.f16", 64, 16, 2, half_of, true, ", 1, 1, 0, 0", narrow, narrow},
          true);
    check({"m64n64k16.f32.f16.f16", 64, 16, 2, half_of, true, ", 1, 1, 1, 1", along_m, along_m},
          true);
    check({"m64n128k16.f32.bf16.bf16", 128, 16, 2, bf16_of, true, ", 1, 1, 0, 1", narrow, along_m},
          false);
  }
}

TEST(Wgmma, OtherTypesAndScales) {
  const Layout plain{0, true}, rows32{32, true};
  check({"m64n8k8.f32.tf32.tf32", 8, 8, 4, float_of, true, ", 1, 1", plain, rows32}, true);
  check({"m64n16k32.s32.s8.s8", 16, 32, 1, byte_of, false, "", rows32, plain}, true);
  check({"m64n8k16.f32.f16.f16", 8, 16, 2, half_of, true, ", -1, 1, 0, 0", plain, plain, false, -1},
        false);
  check({"m64n8k16.f32.f16.f16", 8, 16, 2, half_of, true, ", -1, -1, 0, 0", plain, plain, false, 1},
        true);
}

TEST(Wgmma, AFromRegisters) {
  const Layout plain{0, true};
  check({"m64n256k16.f32.f16.f16", 256, 16, 2, half_of, true, ", 1, 1, 0", plain, plain, true},
        true);
}

// Rows of 128 or 64 bytes: a product takes 32 of them, and the start address moves along the row.
TEST(Wgmma, StartAddressMovesInsideSwizzledRows) {
  for (uint32_t swizzle : {64u, 128u}) {
    const uint32_t wide = swizzle / 2;
    std::mt19937 random(2);
    std::vector<std::vector<int>> a(64, std::vector<int>(wide)), b(wide, std::vector<int>(8));
    for (auto* m : {&a, &b})
      for (auto& row : *m)
        for (int& v : row) v = static_cast<int>(random() % 16) - 8;
    const Layout layout{swizzle, true};
    const Packed pa =
        pack(64, wide, 2, layout, 0, [&](uint32_t m, uint32_t k) { return half_of(a[m][k]); });
    const Packed pb = pack(8, wide, 2, layout, kARegion,
                           [&](uint32_t n, uint32_t k) { return half_of(b[k][n]); });
    std::vector<uint8_t> in(kShared);
    std::copy(pa.bytes.begin(), pa.bytes.end(), in.begin());
    std::copy(pb.bytes.begin(), pb.bytes.end(), in.begin() + kARegion);
    for (uint32_t part = 0; part < wide / 16; ++part) {
      Device device;
      const auto program = device.load(kernel("m64n8k16.f32.f16.f16", 4, false, ", 1, 1, 0, 0"));
      ASSERT_NE(program, nullptr);
      const uint64_t out = device.allocate(4 * 512);
      const Fault fault = device.launch(*program, "k", shape(1, 128),
                                        Params()
                                            .add(out)
                                            .add(device.upload(in))
                                            .add(pa.descriptor + part * 2)
                                            .add(pb.descriptor + part * 2)
                                            .add(uint32_t{0}));
      ASSERT_EQ(fault.kind, FaultKind::kNone) << fault.message;
      const auto got = device.download<uint32_t>(out, 512);
      for (uint32_t thread = 0; thread < 128; ++thread)
        for (uint32_t i = 0; i < 4; ++i) {
          const uint32_t m = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8,
                         n = thread % 4 * 2 + i % 2;
          int want = 0;
          for (uint32_t k = part * 16; k < part * 16 + 16; ++k) want += a[m][k] * b[k][n];
          ASSERT_EQ(f32(got[i * 128 + thread]), static_cast<float>(want));
        }
    }
  }
}

TEST(Wgmma, DescriptorsOutsideSharedMemoryAreFaults) {
  Device device;
  const auto program = device.load(kernel("m64n8k16.f32.f16.f16", 4, false, ", 1, 1, 0, 0"));
  ASSERT_NE(program, nullptr);
  const Fault fault = device.launch(*program, "k", shape(1, 128),
                                    Params()
                                        .add(device.allocate(4096))
                                        .add(device.allocate(kShared))
                                        .add(descriptor(0x3fff0, 0, 0, 0))
                                        .add(uint64_t{0})
                                        .add(uint32_t{0}));
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress) << fault.message;
}

TEST(Wgmma, OtherFormsAreRefused) {
  for (const char* words : {"m64n64k16.f32.f16.bf16", "m64n60k16.f32.f16.f16",
                            "m32n64k16.f32.f16.f16", "m64n64k8.f32.f16.f16"})
    EXPECT_THAT(compile_error(kernel(words, 4, false, ", 1, 1, 0, 0"), 90),
                testing::HasSubstr("is not supported"))
        << words;
}

}  // namespace
}  // namespace gacer::simdevice::test
