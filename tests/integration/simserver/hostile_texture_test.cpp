// SPDX-License-Identifier: Apache-2.0
// Texture requests that no driver would send: refused or harmless, and the server goes on. Without
// MPS, whose clients share a fault.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/integration/simserver/raw_client.h"

namespace gacer::simdevice::test {
namespace {

// Fetches at integer and real coordinates all over, and writes through the handle too.
constexpr const char* kKernel = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 texture, .param .u64 surface) {
  .reg .b64 t, s;
  .reg .b32 i, j, d<4>;
  .reg .f32 x, y;
  ld.param.u64 t, [texture];
  ld.param.u64 s, [surface];
  mov.u32 i, %tid.x;
  mul.lo.u32 j, i, 77777;
  cvt.rn.f32.s32 x, j;
  cvt.rn.f32.s32 y, i;
  tex.2d.v4.u32.f32 {d0, d1, d2, d3}, [t, {x, y}];
  tex.level.3d.v4.u32.f32 {d0, d1, d2, d3}, [t, {x, y, x, x}], y;
  tex.grad.2d.v4.u32.f32 {d0, d1, d2, d3}, [t, {x, y}], {x, y}, {y, x};
  tex.cube.v4.u32.f32 {d0, d1, d2, d3}, [t, {x, y, x, x}];
  tld4.a.2d.v4.u32.f32 {d0, d1, d2, d3}, [t, {x, y}];
  sust.p.3d.v4.b32.clamp [s, {i, j, i, i}], {d0, d1, d2, d3};
  ret;
}
)";

class HostileTexture : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(client_.start(false)); }

  static TextureMsg sound() {
    TextureMsg m{};
    m.image_kind = 3;
    m.texel_kind = 2;
    m.component_bytes = 4;
    m.channels = 1;
    m.levels = 1;
    m.level[0] = {kDeviceBase, 512, 4096, 8, 8, 1, 0};
    return m;
  }
  ReplyMsg create(TextureMsg m) { return client_.ask(m, SimType::kTextureCreate); }
  int error_of(TextureMsg m) { return create(m).error; }

  ServerProcess server_;
  RawClient client_{server_.socket_path()};
};

TEST_F(HostileTexture, given_values_out_of_range_then_they_are_refused) {
  EXPECT_EQ(error_of(sound()), CUDA_SUCCESS);
  const auto refused = [&](auto change) {
    TextureMsg m = sound();
    change(m);
    EXPECT_EQ(error_of(m), CUDA_ERROR_INVALID_VALUE);
  };
  refused([](TextureMsg& m) { m.image_kind = 9; });
  refused([](TextureMsg& m) { m.texel_kind = 3; });
  refused([](TextureMsg& m) { m.component_bytes = 3; });
  refused([](TextureMsg& m) { m.component_bytes = 1; });  // a float of one byte
  refused([](TextureMsg& m) { m.channels = 0; });
  refused([](TextureMsg& m) { m.channels = 5; });
  refused([](TextureMsg& m) { m.flags = 64; });
  refused([](TextureMsg& m) { m.flags = kTextureFractions; });
  refused([](TextureMsg& m) { m.address_modes[1] = 4; });
  refused([](TextureMsg& m) { m.levels = 0; });
  refused([](TextureMsg& m) { m.levels = kMaxTextureLevels + 1; });
  refused([](TextureMsg& m) { m.level[0].width = 0; });
  refused([](TextureMsg& m) { m.level[0].address += 4; });
  refused([](TextureMsg& m) { m.level[0].pitch = UINT64_MAX - 15; });
  refused([](TextureMsg& m) { m.bias = NAN; });
  refused([](TextureMsg& m) { m.greatest_level = INFINITY; });
  TextureMsg elsewhere = sound();
  elsewhere.context = 77;
  EXPECT_EQ(error_of(elsewhere), CUDA_ERROR_INVALID_CONTEXT);
  TextureMsg unknown{};
  unknown.handle = 1234;
  EXPECT_EQ(client_.ask(unknown, SimType::kTextureDestroy).error, CUDA_ERROR_INVALID_VALUE);
}

// Whatever a descriptor says, a kernel that uses it reads its own memory or faults.
TEST_F(HostileTexture, given_random_descriptors_then_kernels_end_and_the_server_goes_on) {
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    RawClient client(server_.socket_path());
    ASSERT_TRUE(server_.running()) << "round " << round;
    ASSERT_TRUE(client.start(false)) << "round " << round;
    const uint64_t memory = client.alloc(1 << 20).value;
    Launch launch;
    launch.module = client.load(kKernel).value;
    ASSERT_NE(launch.module, 0U);
    TextureMsg m = sound();
    m.image_kind = static_cast<uint32_t>(random() % 9);
    m.flags =
        static_cast<uint32_t>(random() % 2 * kTextureLinear + random() % 2 * kTextureNormalised +
                              random() % 2 * kTextureLinearLevels);
    m.levels = static_cast<uint32_t>(1 + random() % kMaxTextureLevels);
    m.greatest_level = 30;
    for (auto& mode : m.address_modes) mode = static_cast<uint32_t>(random() % 4);
    for (TextureLevel& l : m.level)
      l = {memory + random() % 4096 * 16,
           random() % 4096 * 16,
           random() % 4096 * 16,
           static_cast<uint32_t>(1 + random() % (round % 2 == 0 ? 16 : 4'000'000'000U)),
           static_cast<uint32_t>(1 + random() % 100),
           static_cast<uint32_t>(1 + random() % 8),
           0};
    const uint64_t texture = client.ask(m, SimType::kTextureCreate).value;
    m.surface = 1;
    const uint64_t surface = client.ask(m, SimType::kTextureCreate).value;
    ASSERT_NE(texture * surface, 0U);
    launch.params = {texture, surface};
    client.launch(0, launch);
    EXPECT_TRUE(client.sync(0));
  }
  EXPECT_EQ(client_.mem_info().error, 0);
}

TEST_F(HostileTexture, given_handles_of_another_client_then_they_mean_nothing) {
  const uint64_t handle = create(sound()).value;
  RawClient other(server_.socket_path());
  ASSERT_TRUE(other.start(false));
  Launch launch;
  launch.module = other.load(kKernel).value;
  launch.params = {handle, handle};
  other.launch(0, launch);
  EXPECT_TRUE(other.sync(0));
  EXPECT_EQ(other.page()->sticky_error, static_cast<uint32_t>(CUDA_ERROR_ILLEGAL_ADDRESS));
}

}  // namespace
}  // namespace gacer::simdevice::test
