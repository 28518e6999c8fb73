// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/device_ops.h"

#include <cstdint>
#include <initializer_list>

namespace gacer::kernels {
namespace {

// Below this many 128x128 tiles the smaller tile keeps more of a large GPU busy.
constexpr long long kLargeTileMinBlocks = 96;

unsigned blocks_for(long long items, long long per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

template <class... Args>
void launch(Launcher& launcher, KernelId kernel, GridSize grid, unsigned shared_bytes,
            Args... args) {
  void* arguments[] = {&args...};
  launcher.launch(kernel, grid, shared_bytes, arguments);
}

// One thread per item.
template <class... Args>
void launch_flat(Launcher& launcher, KernelId kernel, long long items, Args... args) {
  launch(launcher, kernel, GridSize{blocks_for(items, kernel_row(kernel).block_threads)}, 0,
         args...);
}

bool aligned16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

bool quads(std::initializer_list<long long> values) {
  for (long long value : values)
    if (value % 4 != 0) return false;
  return true;
}

int gemm_flags(const GemmArgs& g, bool b_runs_along_k) {
  int flags = 0;
  if (aligned16(g.a) && quads({g.k, g.lda, g.a_outer, g.a_inner})) flags |= kVectorA;
  const int b_extent = b_runs_along_k ? g.k : g.n;
  if (aligned16(g.b) && quads({b_extent, g.ldb, g.b_outer, g.b_inner})) flags |= kVectorB;
  return flags;
}

struct TileSize {
  int m, n;
};

TileSize tile_of(KernelId kernel) {
  switch (kernel) {
    case KernelId::gemm_nt_128x128:
    case KernelId::conv_128x128:
    case KernelId::conv_1x1_128x128:
      return {128, 128};
    case KernelId::gemm_nt_32x32:
      return {32, 32};
    default:
      return {64, 64};
  }
}

long long tiles(TileSize tile, long long m, long long n) {
  return ((m + tile.m - 1) / tile.m) * ((n + tile.n - 1) / tile.n);
}

bool is_gemv(KernelId kernel) {
  return kernel == KernelId::gemv_rows1 || kernel == KernelId::gemv_rows4 ||
         kernel == KernelId::gemv_rows8;
}

GridSize gemm_grid(KernelId kernel, const GemmArgs& g, int batches) {
  if (is_gemv(kernel)) return {blocks_for(g.n, kernel_row(kernel).block_threads / 32)};
  const TileSize tile = tile_of(kernel);
  return {blocks_for(g.n, tile.n), blocks_for(g.m, tile.m), static_cast<unsigned>(batches)};
}

void launch_gemm(Launcher& launcher, KernelId kernel, GemmArgs args, int batches) {
  args.vector_flags = gemm_flags(args, kernel != KernelId::gemm_nn_64x64);
  launch(launcher, kernel, gemm_grid(kernel, args, batches), 0, args);
}

ConvArgs with_divisors(ConvArgs args) {
  const int taps = args.kernel_h * args.kernel_w;
  args.by_out_area = fast_divisor(args.out_h * args.out_w);
  args.by_kernel_area = fast_divisor(taps);
  args.by_kernel_w = fast_divisor(args.kernel_w);
  const bool vector = aligned16(args.weights) && quads({taps * args.in_channels});
  args.vector_flags = vector ? kVectorA : 0;
  return args;
}

}  // namespace

FastDivisor fast_divisor(int divisor) {
  // With s = ceil(log2 d) and m = floor(2^32 (2^s - d) / d) + 1, x / d = (hi(x m) + x) >> s.
  const std::uint64_t d = static_cast<std::uint64_t>(divisor);
  unsigned shift = 0;
  while ((std::uint64_t{1} << shift) < d) ++shift;
  const std::uint64_t multiplier = (((std::uint64_t{1} << shift) - d) << 32) / d + 1;
  return {static_cast<unsigned>(d), static_cast<unsigned>(multiplier), shift};
}

KernelId gemm_nt_kernel(int m, int n, int batches) {
  if (batches == 1 && m == 1) return KernelId::gemv_rows1;
  if (batches == 1 && m <= 4) return KernelId::gemv_rows4;
  if (batches == 1 && m <= 8) return KernelId::gemv_rows8;
  if (m <= 32) return KernelId::gemm_nt_32x32;
  if (m > 64 && n > 64 && tiles({128, 128}, m, n) * batches >= kLargeTileMinBlocks)
    return KernelId::gemm_nt_128x128;
  return KernelId::gemm_nt_64x64;
}

KernelId conv_kernel(const ConvArgs& args) {
  const long long pixels = static_cast<long long>(args.batch) * args.out_h * args.out_w;
  const bool large =
      args.out_channels > 64 && tiles({128, 128}, args.out_channels, pixels) >= kLargeTileMinBlocks;
  const bool pointwise =
      args.kernel_h == 1 && args.kernel_w == 1 && args.stride == 1 && args.pad == 0;
  if (pointwise) return large ? KernelId::conv_1x1_128x128 : KernelId::conv_1x1_64x64;
  return large ? KernelId::conv_128x128 : KernelId::conv_64x64;
}

void DeviceOps::gemm_nt(const GemmArgs& args, int batches) {
  launch_gemm(launcher_, gemm_nt_kernel(args.m, args.n, batches), args, batches);
}

void DeviceOps::gemm_nn(const GemmArgs& args, int batches) {
  launch_gemm(launcher_, KernelId::gemm_nn_64x64, args, batches);
}

void DeviceOps::conv(const ConvArgs& args) {
  const KernelId kernel = conv_kernel(args);
  const TileSize tile = tile_of(kernel);
  const long long pixels = static_cast<long long>(args.batch) * args.out_h * args.out_w;
  const GridSize grid{blocks_for(pixels, tile.n), blocks_for(args.out_channels, tile.m)};
  launch(launcher_, kernel, grid, 0, with_divisors(args));
}

void DeviceOps::depthwise_conv(const ConvArgs& args) {
  const bool is_3x3 = args.kernel_h == 3 && args.kernel_w == 3;
  const long long count =
      static_cast<long long>(args.batch) * args.out_channels * args.out_h * args.out_w;
  launch_flat(launcher_, is_3x3 ? KernelId::depthwise_conv_3x3 : KernelId::depthwise_conv, count,
              with_divisors(args));
}

void DeviceOps::max_pool(const PoolArgs& args) {
  const long long count = static_cast<long long>(args.planes) * args.out_h * args.out_w;
  launch_flat(launcher_, KernelId::max_pool, count, args);
}

void DeviceOps::avg_pool(const PoolArgs& args) {
  const long long count = static_cast<long long>(args.planes) * args.out_h * args.out_w;
  launch_flat(launcher_, KernelId::avg_pool, count, args);
}

void DeviceOps::global_avg_pool(const float* input, float* output, int planes, int area) {
  launch_flat(launcher_, KernelId::global_avg_pool, 32LL * planes, input, output, planes, area);
}

void DeviceOps::batch_norm(const BatchNormArgs& args) {
  launch_flat(launcher_, KernelId::batch_norm, args.count, args);
}

void DeviceOps::scale_shift(const ScaleShiftArgs& args) {
  launch_flat(launcher_, KernelId::scale_shift, args.count, args);
}

void DeviceOps::layer_norm(const LayerNormArgs& args) {
  launch(launcher_, KernelId::layer_norm, GridSize{static_cast<unsigned>(args.rows)}, 0, args);
}

void DeviceOps::softmax_rows(const float* input, float* output, int rows, int columns) {
  launch_flat(launcher_, KernelId::softmax_rows, 32LL * rows, input, output, rows, columns);
}

void DeviceOps::activate(const float* input, float* output, long long count, Activation act) {
  launch_flat(launcher_, KernelId::activate, count, input, output, count, static_cast<int>(act));
}

void DeviceOps::add_activate(const float* a, const float* b, float* output, long long count,
                             Activation act) {
  launch_flat(launcher_, KernelId::add_activate, count, a, b, output, count, static_cast<int>(act));
}

void DeviceOps::fill(float* output, long long count, float value) {
  launch_flat(launcher_, KernelId::fill, count, output, count, value);
}

void DeviceOps::concat2(const ConcatArgs& args) {
  const long long count = static_cast<long long>(args.items) * (args.a_plane + args.b_plane);
  launch_flat(launcher_, KernelId::concat2, count, args.a, args.b, args.output, args.a_plane,
              args.b_plane, count);
}

void DeviceOps::embed_tokens(const EmbedArgs& args) {
  launch(launcher_, KernelId::embed_tokens, GridSize{static_cast<unsigned>(args.rows)}, 0, args);
}

void DeviceOps::attention_decode(const DecodeAttentionArgs& args, int batch) {
  const GridSize grid{static_cast<unsigned>(args.heads), static_cast<unsigned>(batch)};
  const unsigned scores_bytes = static_cast<unsigned>(args.length) * sizeof(float);
  launch(launcher_, KernelId::attention_decode, grid, scores_bytes, args);
}

void DeviceOps::lstm_cell(const LstmCellArgs& args) {
  launch_flat(launcher_, KernelId::lstm_cell, static_cast<long long>(args.batch) * args.hidden,
              args.gates, args.cell, args.hidden_out, args.batch, args.hidden);
}

void DeviceOps::init_uniform(float* output, long long count, unsigned seed, float low, float high) {
  launch_flat(launcher_, KernelId::init_uniform, (count + 3) / 4, output, count, seed, low, high);
}

}  // namespace gacer::kernels
