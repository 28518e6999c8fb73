// SPDX-License-Identifier: Apache-2.0
// Texture and surface instructions against the formulas of the CUDA Programming Guide ("Texture
// Fetching"), written down here once more in double precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "runtime/simdevice/exec/texture/texture_table.h"
#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

using Words = std::array<uint32_t, 4>;
using Floats = std::array<float, 4>;

constexpr uint64_t kTexture = 7, kSurface = 9;

Words words_of(const Floats& f) {
  return std::bit_cast<Words>(f);
}
Floats floats_of(const Words& w) {
  return std::bit_cast<Floats>(w);
}

// One element of a float image of one channel: distinct, exactly representable.
float value_at(uint32_t x, uint32_t y, uint32_t z) {
  return static_cast<float>(x * 3 + y * 50 + z * 1000) + 0.25f;
}

class Textures : public testing::Test {
 protected:
  // A float image whose elements are value_at().
  Image make_image(ImageKind kind, uint32_t width, uint32_t height = 1, uint32_t depth = 1) {
    Image image;
    image.kind = kind;
    image.levels = {make_level(width, height, depth, 0)};
    return image;
  }
  ImageLevel make_level(uint32_t width, uint32_t height, uint32_t depth, float plus) {
    ImageLevel level;
    level.width = width;
    level.height = height;
    level.depth = depth;
    level.pitch = (uint64_t{width} * 4 + 63) / 64 * 64;
    level.slice_pitch = level.pitch * height;
    level.address = device_.allocate(level.slice_pitch * depth);
    for (uint32_t z = 0; z < depth; ++z)
      for (uint32_t y = 0; y < height; ++y)
        for (uint32_t x = 0; x < width; ++x) {
          const float v = value_at(x, y, z) + plus;
          std::memcpy(device_.host(level.address) + z * level.slice_pitch + y * level.pitch + x * 4,
                      &v, 4);
        }
    return level;
  }

  Fault try_run(const std::string& body, const std::vector<Words>& inputs,
                std::vector<Words>& outputs) {
    const std::string ptx = std::string(kHeader) +
                            R"(.visible .entry k(.param .u64 out, .param .u64 in) {
  .reg .b64 h, s, ro, ri, i64;
  .reg .b32 t, c<4>, d<4>;
  .reg .f32 f<4>;
  .reg .b16 b<4>;
  .reg .pred p;
  ld.param.u64 ro, [out];
  ld.param.u64 ri, [in];
  mov.u32 t, %tid.x;
  mul.wide.u32 i64, t, 16;
  add.s64 ro, ro, i64;
  add.s64 ri, ri, i64;
  ld.global.v4.b32 {c0, c1, c2, c3}, [ri];
  mov.b32 f0, c0; mov.b32 f1, c1; mov.b32 f2, c2; mov.b32 f3, c3;
  mov.b32 d0, 0; mov.b32 d1, 0; mov.b32 d2, 0; mov.b32 d3, 0;
  mov.u64 h, 7;
  mov.u64 s, 9;
)" + body + "\n  st.global.v4.b32 [ro], {d0, d1, d2, d3};\n  ret;\n}\n";
    const auto program = device_.load(ptx);
    if (program == nullptr) return {FaultKind::kUnsupported, "does not compile"};
    const uint64_t in = device_.upload(inputs), out = device_.allocate(inputs.size() * 16);
    const Params params = Params().add(out).add(in);
    const AddressSpace memory = device_.space();
    GridLaunch launch;
    launch.shape = shape(1, static_cast<uint32_t>(inputs.size()));
    launch.params = params.bytes().data();
    launch.memory = &memory;
    launch.textures = &table_;
    const auto run = program->start_grid(launch);
    run->work({});
    outputs = device_.download<Words>(out, inputs.size());
    counters_ = run->counters();
    return run->fault();
  }

  std::vector<Words> run(const std::string& body, const std::vector<Words>& inputs) {
    std::vector<Words> outputs(inputs.size());
    const Fault fault = try_run(body, inputs, outputs);
    EXPECT_EQ(fault.kind, FaultKind::kNone) << fault.message;
    return outputs;
  }
  std::vector<Floats> fetch(const std::string& body, const std::vector<Floats>& at) {
    std::vector<Words> in;
    for (const Floats& f : at) in.push_back(words_of(f));
    std::vector<Floats> out;
    for (const Words& w : run(body, in)) out.push_back(floats_of(w));
    return out;
  }

  Device device_;
  TextureTable table_;
  BlockCounters counters_;
};

// ---- the guide's formulas

// Element index along one axis; -1: border.
int reference_index(int i, int n, AddressMode mode) {
  if (mode == AddressMode::kBorder) return i < 0 || i >= n ? -1 : i;
  if (mode == AddressMode::kWrap) return ((i % n) + n) % n;
  if (mode == AddressMode::kMirror) {
    const int m = ((i % (2 * n)) + 2 * n) % (2 * n);
    return m < n ? m : 2 * n - 1 - m;
  }
  return std::min(std::max(i, 0), n - 1);
}

// x in elements, before the shift by one half.
double reference_position(double x, int n, const Sampler& s, int axis) {
  if (!s.normalised) return x;
  if (s.address[axis] == AddressMode::kWrap) x -= std::floor(x);
  if (s.address[axis] == AddressMode::kMirror) {
    const double whole = std::floor(x);
    x = std::fmod(whole, 2) == 0 ? x - whole : 1 - (x - whole);
  }
  return x * n;
}

double reference_sample(const Sampler& s, const std::array<int, 3>& extents, const Floats& at,
                        int dimensions) {
  int first[3] = {0, 0, 0};
  double weight[3] = {0, 0, 0};
  AddressMode modes[3];
  for (int d = 0; d < 3; ++d) {
    modes[d] = s.address[d];
    if (!s.normalised && (modes[d] == AddressMode::kWrap || modes[d] == AddressMode::kMirror))
      modes[d] = AddressMode::kClamp;
    if (d >= dimensions) continue;
    double x = reference_position(at[d], extents[d], s, d);
    if (s.linear) x -= 0.5;
    first[d] = static_cast<int>(std::floor(x));
    if (s.linear) weight[d] = std::floor((x - first[d]) * 256 + 0.5) / 256;
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double w = 1;
    int index[3];
    for (int d = 0; d < 3; ++d) {
      const int upper = corner >> d & 1;
      w *= upper != 0 ? weight[d] : 1 - weight[d];
      index[d] = reference_index(first[d] + upper, extents[d], modes[d]);
    }
    if (w == 0) continue;
    const bool border = index[0] < 0 || index[1] < 0 || index[2] < 0;
    sum += w * (border ? s.border[0] : static_cast<double>(value_at(index[0], index[1], index[2])));
  }
  return sum;
}

struct ShapeCase {
  const char* name;
  ImageKind kind;
  int dimensions;
  std::array<int, 3> extents;
  const char* coordinates;
};
const ShapeCase kShapes[] = {
    {"1d", ImageKind::k1d, 1, {16, 1, 1}, "{f0}"},
    {"2d", ImageKind::k2d, 2, {16, 8, 1}, "{f0, f1}"},
    {"2d", ImageKind::kPitched, 2, {16, 8, 1}, "{f0, f1}"},
    {"3d", ImageKind::k3d, 3, {16, 8, 4}, "{f0, f1, f2, f2}"},
};

// Random positions inside and around. Extents are powers of two and positions multiples of 1/32 of
// an element, so that single precision is exact.
std::vector<Floats> positions(bool normalised) {
  std::mt19937 random(4);
  std::vector<Floats> out;
  for (int i = 0; i < 256; ++i) {
    Floats at{};
    for (int d = 0; d < 3; ++d) {
      const double element = static_cast<int>(random() % (16 * 3 * 32)) / 32.0 - 16;
      at[d] = static_cast<float>(normalised ? element / 16 : element);
    }
    out.push_back(at);
  }
  return out;
}

TEST_F(Textures, FilterAndAddressAsTheGuideSays) {
  for (const ShapeCase& c : kShapes)
    for (bool linear : {false, true})
      for (bool normalised : {false, true})
        for (AddressMode mode : {AddressMode::kWrap, AddressMode::kClamp, AddressMode::kMirror,
                                 AddressMode::kBorder}) {
          SCOPED_TRACE(std::string(c.name) + (linear ? " linear" : " point") +
                       (normalised ? " normalised" : "") + " mode " +
                       std::to_string(static_cast<int>(mode)));
          Texture texture;
          texture.image =
              make_image(c.kind, static_cast<uint32_t>(c.extents[0]),
                         static_cast<uint32_t>(c.extents[1]), static_cast<uint32_t>(c.extents[2]));
          Sampler& s = texture.sampler;
          s.linear = linear;
          s.normalised = normalised;
          for (auto& m : s.address) m = mode;
          s.border[0] = -3.5f;
          table_.add(kTexture, texture);
          const auto at = positions(normalised);
          const auto got = fetch(std::string("  tex.") + c.name +
                                     ".v4.f32.f32 {d0, d1, d2, d3}, [h, " + c.coordinates + "];",
                                 at);
          for (size_t i = 0; i < at.size(); ++i)
            ASSERT_NEAR(got[i][0], reference_sample(s, c.extents, at[i], c.dimensions), 2e-3) << i;
        }
}

TEST_F(Textures, IntegersReadElementsOfLinearMemory) {
  Texture texture;
  texture.image = make_image(ImageKind::kLinear, 100);
  table_.add(kTexture, texture);
  const auto got = run("  tex.1d.v4.f32.s32 {d0, d1, d2, d3}, [h, {c0}];",
                       {{0}, {99}, {100}, {0xffffffff}, {42}});
  EXPECT_EQ(floats_of(got[0])[0], value_at(0, 0, 0));
  EXPECT_EQ(floats_of(got[1])[0], value_at(99, 0, 0));
  EXPECT_EQ(floats_of(got[2])[0], 0.0f);
  EXPECT_EQ(floats_of(got[3])[0], 0.0f);
  EXPECT_EQ(floats_of(got[4])[0], value_at(42, 0, 0));
}

TEST_F(Textures, LayersClampAndTheLayerComesFirst) {
  Texture texture;
  texture.image = make_image(ImageKind::k2dLayered, 8, 4, 3);
  table_.add(kTexture, texture);
  const auto at = [](uint32_t layer, float x, float y) {
    return Words{layer, std::bit_cast<uint32_t>(x), std::bit_cast<uint32_t>(y), 0};
  };
  const auto got = run("  tex.a2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {c0, f1, f2, f2}];",
                       {at(0, 2.5f, 1.5f), at(2, 7.5f, 3.5f), at(9, 0.5f, 0.5f)});
  EXPECT_EQ(floats_of(got[0])[0], value_at(2, 1, 0));
  EXPECT_EQ(floats_of(got[1])[0], value_at(7, 3, 2));
  EXPECT_EQ(floats_of(got[2])[0], value_at(0, 0, 2));
  texture.image = make_image(ImageKind::k1dLayered, 8, 1, 3);
  table_.add(kTexture, texture);
  const auto line = run("  tex.a1d.v4.f32.f32 {d0, d1, d2, d3}, [h, {c0, f1}];", {at(1, 5.5f, 0)});
  EXPECT_EQ(floats_of(line[0])[0], value_at(5, 0, 1));
}

TEST_F(Textures, CubeFacesFollowTheLongestAxis) {
  Texture texture;
  texture.image = make_image(ImageKind::kCube, 4, 4, 6);
  texture.sampler.normalised = true;
  table_.add(kTexture, texture);
  const std::string body = "  tex.cube.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f1, f2, f2}];";
  // Directions, and the face, s and t of the guide's table.
  struct Case {
    Floats direction;
    uint32_t face;
    float s, t;
  };
  std::vector<Case> cases;
  for (float a : {-0.6f, 0.3f})
    for (float b : {-0.4f, 0.7f}) {
      cases.push_back({{1, a, b, 0}, 0, -b, -a});
      cases.push_back({{-1, a, b, 0}, 1, b, -a});
      cases.push_back({{a, 1, b, 0}, 2, a, b});
      cases.push_back({{a, -1, b, 0}, 3, a, -b});
      cases.push_back({{a, b, 1, 0}, 4, a, -b});
      cases.push_back({{a, b, -1, 0}, 5, -a, -b});
    }
  std::vector<Floats> at;
  for (const Case& c : cases) at.push_back(c.direction);
  const auto got = fetch(body, at);
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto x = static_cast<uint32_t>((cases[i].s + 1) / 2 * 4),
               y = static_cast<uint32_t>((cases[i].t + 1) / 2 * 4);
    EXPECT_EQ(got[i][0], value_at(x, y, cases[i].face)) << i;
  }
  // The second cube of a layered one.
  texture.image = make_image(ImageKind::kCubeLayered, 4, 4, 12);
  table_.add(kTexture, texture);
  const auto second = run("  tex.acube.v4.f32.f32 {d0, d1, d2, d3}, [h, {c0, f1, f2, f3}];",
                          {{1, std::bit_cast<uint32_t>(0.1f), std::bit_cast<uint32_t>(0.1f),
                            std::bit_cast<uint32_t>(1.0f)}});
  EXPECT_EQ(floats_of(second[0])[0], value_at(2, 1, 6 + 4));
}

TEST_F(Textures, LevelsArePickedRoundedOrBlended) {
  Texture texture;
  texture.image.kind = ImageKind::k2d;
  texture.image.levels = {make_level(8, 8, 1, 0), make_level(4, 4, 1, 10000),
                          make_level(2, 2, 1, 20000)};
  texture.sampler.normalised = true;
  texture.sampler.greatest_level = 10;
  const std::string body = "  tex.level.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f1}], f2;";
  const std::vector<Floats> at = {{0, 0, 0, 0},     {0, 0, 0.4f, 0}, {0, 0, 0.6f, 0},
                                  {0, 0, 1.75f, 0}, {0, 0, 9, 0},    {0, 0, -3, 0}};
  table_.add(kTexture, texture);
  auto got = fetch(body, at);
  const float base = value_at(0, 0, 0);
  for (size_t i = 0; i < at.size(); ++i) {
    const float level[] = {0, 0, 1, 2, 2, 0};
    EXPECT_EQ(got[i][0], base + 10000 * level[i]) << i;
  }
  texture.sampler.linear_levels = true;
  table_.add(kTexture, texture);
  got = fetch(body, at);
  EXPECT_EQ(got[3][0], base + 17500);
  EXPECT_EQ(got[4][0], base + 20000);
  EXPECT_NEAR(got[1][0], base + 4000, 20);  // weights have 8 bits
  texture.sampler.greatest_level = 1;
  texture.sampler.bias = 0.5f;
  table_.add(kTexture, texture);
  got = fetch(body, at);
  EXPECT_EQ(got[0][0], base + 5000);
  EXPECT_EQ(got[3][0], base + 10000);
  // One step of two elements of level 0 is level 1; without .level it is level 0.
  texture.sampler.bias = 0;
  texture.sampler.linear_levels = false;
  table_.add(kTexture, texture);
  got = fetch("  tex.grad.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f0}], {f1, f0}, {f0, f2};",
              {{0, 0.25f, 0.125f, 0}, {0, 0.125f, 0.125f, 0}, {0, 0, 0.25f, 0}});
  EXPECT_EQ(got[0][0], base + 10000);
  EXPECT_EQ(got[1][0], base);
  EXPECT_EQ(got[2][0], base + 10000);
  EXPECT_EQ(fetch("  tex.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f1}];", at)[4][0], base);
}

TEST_F(Textures, GatherTakesFourCorners) {
  Texture texture;
  texture.image = make_image(ImageKind::k2d, 8, 8);
  table_.add(kTexture, texture);
  const auto got = fetch("  tld4.r.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f1}];",
                         {{3.2f, 4.9f, 0, 0}, {0, 0, 0, 0}});
  EXPECT_EQ(got[0],
            (Floats{value_at(2, 5, 0), value_at(3, 5, 0), value_at(3, 4, 0), value_at(2, 4, 0)}));
  EXPECT_EQ(got[1],
            (Floats{value_at(0, 0, 0), value_at(0, 0, 0), value_at(0, 0, 0), value_at(0, 0, 0)}));
}

TEST_F(Textures, OffsetsMoveByElements) {
  Texture texture;
  texture.image = make_image(ImageKind::k2d, 8, 8);
  table_.add(kTexture, texture);
  const auto got =
      run("  mov.u32 c0, 2; mov.u32 c1, -1;\n"
          "  tex.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f1}], {c0, c1};",
          {words_of({3.5f, 4.5f, 0, 0})});
  EXPECT_EQ(floats_of(got[0])[0], value_at(5, 3, 0));
}

// ---- formats

struct FormatCase {
  const char* name;
  TexelKind kind;
  uint8_t bytes, channels;
  bool normalised, as_integer, srgb;
  const char* type;
  std::vector<uint8_t> element;
  Words want;
};

uint32_t float_bits(double v) {
  return std::bit_cast<uint32_t>(static_cast<float>(v));
}

TEST_F(Textures, FormatsReadAsIntegersFloatsOrFractions) {
  const uint32_t one = float_bits(1);
  const FormatCase cases[] = {
      {"u8x4",
       TexelKind::kUnsigned,
       1,
       4,
       false,
       true,
       false,
       "u32",
       {1, 2, 255, 4},
       {1, 2, 255, 4}},
      {"s8x2",
       TexelKind::kSigned,
       1,
       2,
       false,
       true,
       false,
       "s32",
       {0xff, 0x7f},
       {0xffffffff, 127, 0, 1}},
      {"s16x1",
       TexelKind::kSigned,
       2,
       1,
       false,
       true,
       false,
       "s32",
       {0, 0x80},
       {0xffff8000, 0, 0, 1}},
      {"u32x2",
       TexelKind::kUnsigned,
       4,
       2,
       false,
       false,
       false,
       "u32",
       {1, 0, 0, 128, 2, 0, 0, 0},
       {0x80000001, 2, 0, 1}},
      {"u8x4 fractions",
       TexelKind::kUnsigned,
       1,
       4,
       false,
       false,
       false,
       "f32",
       {0, 51, 102, 255},
       {0, float_bits(0.2), float_bits(0.4), one}},
      {"s8x1 fractions",
       TexelKind::kSigned,
       1,
       1,
       false,
       false,
       false,
       "f32",
       {0x80},
       {float_bits(-1), 0, 0, one}},
      {"u16x2 fractions",
       TexelKind::kUnsigned,
       2,
       2,
       false,
       false,
       false,
       "f32",
       {0xff, 0xff, 0x33, 0x33},
       {one, float_bits(0.2), 0, one}},
      {"unorm8x1",
       TexelKind::kUnsigned,
       1,
       1,
       true,
       true,
       false,
       "f32",
       {51},
       {float_bits(0.2), 0, 0, one}},
      {"half x4",
       TexelKind::kFloat,
       2,
       4,
       false,
       false,
       false,
       "f32",
       {0, 0x3c, 0, 0xc0, 1, 0, 0, 0x7c},
       {one, float_bits(-2), float_bits(std::ldexp(1.0, -24)), 0x7f800000}},
      {"srgb",
       TexelKind::kUnsigned,
       1,
       4,
       false,
       false,
       true,
       "f32",
       {10, 255, 0, 51},
       {float_bits(10 / 255.0 / 12.92), one, 0, float_bits(0.2)}},
  };
  for (const FormatCase& c : cases) {
    SCOPED_TRACE(c.name);
    Texture texture;
    Image& image = texture.image;
    image.kind = ImageKind::k1d;
    image.texel = c.kind;
    image.component_bytes = c.bytes;
    image.channels = c.channels;
    image.normalised = c.normalised;
    image.levels = {{device_.upload(c.element), 64, 64, 1, 1, 1}};
    texture.sampler.as_integer = c.as_integer;
    texture.sampler.srgb = c.srgb;
    table_.add(kTexture, texture);
    const auto got =
        run(std::string("  tex.1d.v4.") + c.type + ".f32 {d0, d1, d2, d3}, [h, {f0}];", {{0}});
    for (int i = 0; i < 4; ++i) {
      if (std::string(c.type) == "f32") {
        EXPECT_FLOAT_EQ(floats_of(got[0])[i], floats_of(c.want)[i]) << i;
      } else {
        EXPECT_EQ(got[0][i], c.want[i]) << i;
      }
    }
  }
}

TEST_F(Textures, PackedHalvesInTwoRegisters) {
  Texture texture;
  texture.image.kind = ImageKind::k1d;
  texture.image.channels = 4;
  texture.image.levels = {
      {device_.upload(std::vector<float>{1, 0.5f, -2, 65504}), 64, 64, 1, 1, 1}};
  table_.add(kTexture, texture);
  const auto got = run("  tex.1d.v2.f16x2.f32 {d0, d1}, [h, {f0}];", {{0}});
  EXPECT_EQ(got[0][0], 0x38003c00u);
  EXPECT_EQ(got[0][1], 0x7bffc000u);
}

// ---- queries, handles, traffic

TEST_F(Textures, QueriesTellTheShape) {
  Texture texture;
  texture.image = make_image(ImageKind::k2d, 40, 30);
  texture.image.levels.push_back(make_level(20, 15, 1, 0));
  texture.sampler.normalised = true;
  table_.add(kTexture, texture);
  Surface surface;
  surface.image = make_image(ImageKind::k2dLayered, 12, 5, 3);
  table_.add(kSurface, surface);
  const auto sizes =
      run("  txq.width.b32 d0, [h]; txq.height.b32 d1, [h];\n"
          "  mov.u32 c0, 1; txq.level.width.b32 d2, [h], c0; txq.num_mipmap_levels.b32 d3, [h];",
          {{0}});
  EXPECT_EQ(sizes[0], (Words{40, 30, 20, 2}));
  const auto kinds =
      run("  txq.normalized_coords.b32 d0, [h]; txq.channel_data_type.b32 d1, [h];\n"
          "  suq.width.b32 d2, [s]; suq.array_size.b32 d3, [s];",
          {{0}});
  EXPECT_EQ(kinds[0], (Words{1, 0x10de, 12, 3}));
  const auto types = run(
      "  istypep.texref p, h; selp.b32 d0, 1, 0, p; istypep.surfref p, h; selp.b32 d1, 1, 0, p;\n"
      "  istypep.surfref p, s; selp.b32 d2, 1, 0, p;",
      {{0}});
  EXPECT_EQ(types[0], (Words{1, 0, 1, 0}));
}

TEST_F(Textures, ResidencyPredicateIsTrue) {
  Texture texture;
  texture.image = make_image(ImageKind::k2d, 4, 4);
  table_.add(kTexture, texture);
  const auto got =
      run("  tex.2d.v4.f32.f32 {d0, d1, d2, d3}|p, [h, {f0, f1}];\n  selp.b32 d1, 1, 0, p;", {{0}});
  EXPECT_EQ(got[0][1], 1u);
}

TEST_F(Textures, UnknownHandlesAndForeignMemoryAreFaults) {
  std::vector<Words> out;
  Fault fault = try_run("  tex.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f1}];", {{0}}, out);
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress);
  EXPECT_THAT(fault.message,
              testing::AllOf(testing::HasSubstr("kernel k, block (0,0,0), thread (0,0,0)"),
                             testing::HasSubstr("0x7 is not a texture object")));
  fault = try_run("  suld.b.2d.b32.trap {d0}, [s, {c0, c1}];", {{0}}, out);
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress);
  Texture texture;
  texture.image = make_image(ImageKind::k2d, 4, 4);
  texture.image.levels[0].address = 0x1234500;
  table_.add(kTexture, texture);
  fault = try_run("  tex.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f1}];", {{0}}, out);
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress);
  EXPECT_THAT(fault.message, testing::HasSubstr("0x1234500"));
}

TEST_F(Textures, FetchesCountAsTraffic) {
  Texture texture;
  texture.image = make_image(ImageKind::k2d, 64, 64);
  texture.sampler.linear = true;
  table_.add(kTexture, texture);
  std::vector<Floats> at;
  for (int i = 0; i < 32; ++i) at.push_back({static_cast<float>(i) + 1, 8, 0, 0});
  const auto before = fetch("  add.f32 f0, f0, f1;", at);
  const uint64_t plain = counters_.global_sectors_read, unique = counters_.unique_bytes_read;
  (void)before;
  fetch("  tex.2d.v4.f32.f32 {d0, d1, d2, d3}, [h, {f0, f1}];", at);
  // Two rows of 33 elements: 5 sectors each to hold them, read as left and right elements.
  EXPECT_EQ(counters_.global_sectors_read - plain, 2u * (4 + 5));
  EXPECT_EQ(counters_.unique_bytes_read - unique, 2u * 5 * 32);
  EXPECT_EQ(counters_.global_sectors_written, 16u);
}

// ---- surfaces

TEST_F(Textures, SurfacesReadAndWriteBytes) {
  Surface surface;
  surface.image = make_image(ImageKind::k2d, 8, 4);
  table_.add(kSurface, surface);
  const ImageLevel& level = surface.image.levels[0];
  auto got =
      run("  suld.b.2d.b32.trap {d0}, [s, {c0, c1}];\n  mov.b32 d1, 0f40400000;\n"
          "  sust.b.2d.b32.trap [s, {c0, c1}], {d1};",
          {{8, 1}, {28, 3}});
  EXPECT_EQ(floats_of(got[0])[0], value_at(2, 1, 0));
  EXPECT_EQ(floats_of(got[1])[0], value_at(7, 3, 0));
  float stored = 0;
  std::memcpy(&stored, device_.host(level.address) + 3 * level.pitch + 28, 4);
  EXPECT_EQ(stored, 3.0f);
  got = run("  suld.b.2d.v4.b32.trap {d0, d1, d2, d3}, [s, {c0, c1}];", {{16, 0}});
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(floats_of(got[0])[i], value_at(4 + i, 0, 0));
  got =
      run("  suld.b.2d.v2.b8.trap {b0, b1}, [s, {c0, c1}];\n  cvt.u32.u16 d0, b0;\n  cvt.u32.u16 "
          "d1, b1;",
          {{18, 0}});
  const uint32_t bits = std::bit_cast<uint32_t>(value_at(4, 0, 0));
  EXPECT_EQ(got[0][0], bits >> 16 & 255);
  EXPECT_EQ(got[0][1], bits >> 24);
}

TEST_F(Textures, SurfaceBoundsTrapClampOrReadZero) {
  Surface surface;
  surface.image = make_image(ImageKind::k2d, 8, 4);
  table_.add(kSurface, surface);
  const std::vector<Words> at = {{32, 0}, {0, 4}, {0xfffffffc, 0}, {4, 0}};
  const auto zero = run("  suld.b.2d.b32.zero {d0}, [s, {c0, c1}];", at);
  EXPECT_EQ(zero[0][0], 0u);
  EXPECT_EQ(zero[1][0], 0u);
  EXPECT_EQ(zero[2][0], 0u);
  EXPECT_EQ(floats_of(zero[3])[0], value_at(1, 0, 0));
  const auto clamped = run("  suld.b.2d.b32.clamp {d0}, [s, {c0, c1}];", at);
  EXPECT_EQ(floats_of(clamped[0])[0], value_at(7, 0, 0));
  EXPECT_EQ(floats_of(clamped[1])[0], value_at(0, 3, 0));
  EXPECT_EQ(floats_of(clamped[2])[0], value_at(0, 0, 0));
  std::vector<Words> out;
  const Fault fault = try_run("  suld.b.2d.b32.trap {d0}, [s, {c0, c1}];", {{4, 0}, {32, 0}}, out);
  EXPECT_EQ(fault.kind, FaultKind::kIllegalAddress);
  EXPECT_THAT(fault.message, testing::HasSubstr("thread (1,0,0)"));
}

TEST_F(Textures, SurfacesOfLayersAndSpace) {
  Surface surface;
  surface.image = make_image(ImageKind::k3d, 4, 4, 4);
  table_.add(kSurface, surface);
  const std::vector<Words> at = {{4, 2, 3, 0}};
  EXPECT_EQ(floats_of(run("  suld.b.3d.b32.trap {d0}, [s, {c0, c1, c2, c3}];", at)[0])[0],
            value_at(1, 2, 3));
  surface.image.kind = ImageKind::k2dLayered;
  table_.add(kSurface, surface);
  EXPECT_EQ(floats_of(run("  suld.b.a2d.b32.trap {d0}, [s, {c2, c0, c1, c1}];", at)[0])[0],
            value_at(1, 2, 3));
  surface.image = make_image(ImageKind::k1dLayered, 4, 1, 4);
  table_.add(kSurface, surface);
  EXPECT_EQ(floats_of(run("  suld.b.a1d.b32.trap {d0}, [s, {c2, c0}];", at)[0])[0],
            value_at(1, 0, 3));
}

TEST_F(Textures, FormattedStoresConvert) {
  Surface surface;
  Image& image = surface.image;
  image.kind = ImageKind::k1d;
  image.texel = TexelKind::kUnsigned;
  image.component_bytes = 1;
  image.channels = 4;
  const uint64_t address = device_.allocate(64);
  image.levels = {{address, 64, 64, 4, 1, 1}};
  table_.add(kSurface, surface);
  run("  sust.p.1d.v4.u32.trap [s, {c0}], {c1, c2, c3, c3};", {{1, 7, 300, 255}});
  EXPECT_EQ(device_.download<uint8_t>(address + 0, 8),
            (std::vector<uint8_t>{0, 0, 0, 0, 7, 255, 255, 255}));
  image.normalised = true;
  table_.add(kSurface, surface);
  run("  mov.u32 c0, 0; sust.p.1d.v4.f32.trap [s, {c0}], {f1, f2, f3, f3};",
      {words_of({0, 0.2f, 2, -1})});
  EXPECT_EQ(device_.download<uint8_t>(address, 4), (std::vector<uint8_t>{51, 255, 0, 0}));
}

TEST_F(Textures, SurfaceReductionsAreAtomic) {
  Surface surface;
  Image& image = surface.image;
  image.kind = ImageKind::k1d;
  image.texel = TexelKind::kUnsigned;
  const uint64_t address = device_.upload(std::vector<uint32_t>{10, 20, 30, 40});
  image.levels = {{address, 64, 64, 4, 1, 1}};
  table_.add(kSurface, surface);
  std::vector<Words> all(64, Words{4, 1, 0, 0});
  run("  sured.b.add.1d.u32.trap [s, {c0}], c1;", all);
  run("  sured.p.max.1d.s32.trap [s, {c0}], c1;", {{2, 29}, {3, 41}});
  run("  sured.b.min.1d.s32.trap [s, {c0}], c1;", {{0, 0xffffffff}});
  EXPECT_EQ(device_.download<uint32_t>(address, 4),
            (std::vector<uint32_t>{0xffffffff, 84, 30, 41}));
}

TEST(TextureRefusals, NameTheLine) {
  const auto refused = [](const std::string& text) {
    return compile_error(
        std::string(kHeader) +
        ".global .texref t;\n.visible .entry k() {\n  .reg .b64 h;\n  .reg .b32 r<9>;\n"
        "  .reg .f32 f<9>;\n" +
        text + "\n  ret;\n}\n");
  };
  for (const char* text :
       {"tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f0, f1}];",
        "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [h, h, {f0, f1}];",
        "tex.2dms.v4.f32.s32 {f0, f1, f2, f3}, [h, {r0, r1, r2, r2}];",
        "tex.cube.v4.f32.s32 {f0, f1, f2, f3}, [h, {r0, r1, r2, r2}];",
        "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [h, {f0, f1}], f2;", "txq.filter_mode.b32 r0, [h];",
        "suld.p.2d.v4.f32.trap {f0, f1, f2, f3}, [h, {r0, r1}];",
        "sust.b.2d.v4.b64.trap [h, {r0, r1}], {h, h, h, h};"})
    EXPECT_THAT(refused(text), testing::HasSubstr("line 9")) << text;
}

}  // namespace
}  // namespace gacer::simdevice::test
