// SPDX-License-Identifier: Apache-2.0
// Convolution as a matrix product without an unfolded copy of the input:
// rows are output channels, columns output pixels of the whole batch, k runs over (channel, r, s).
// Grid: x over pixel tiles, y over channel tiles.
#include "kernels/device/tile.cuh"

namespace gacer::kernels {

// BK x COLS of the unfolded input. A thread keeps one pixel and visits every kStep-th k, so that
// the lanes of a warp read neighbouring pixels of the same k.
template <int COLS, int BK, int THREADS, bool kPointwise>
struct PixelPanel {
  static constexpr int kStep = THREADS / COLS;
  static constexpr int kLoads = BK / kStep;
  const ConvArgs& conv;
  int k_end;
  const float* image;  // the pixel's image; null when the pixel is outside the batch
  int y0, x0;          // input position of the window's first element
  float values[kLoads];

  __device__ PixelPanel(const ConvArgs& args, int k_count, int pixel)
      : conv(args), k_end(k_count), image(nullptr), y0(0), x0(0) {
    const int index = fast_divide(pixel, args.by_out_area);
    const int position = pixel - index * static_cast<int>(args.by_out_area.divisor);
    if (index >= args.batch) return;
    image = args.input + static_cast<long long>(index) * args.in_channels * args.in_h * args.in_w;
    y0 = position / args.out_w * args.stride - args.pad;
    x0 = position % args.out_w * args.stride - args.pad;
    if constexpr (kPointwise) image += position;
  }

  __device__ float fetch(int k) const {
    if (image == nullptr || k >= k_end) return 0.0f;
    const long long plane = static_cast<long long>(conv.in_h) * conv.in_w;
    if constexpr (kPointwise) return image[k * plane];
    const int channel = fast_divide(k, conv.by_kernel_area);
    const int tap = k - channel * static_cast<int>(conv.by_kernel_area.divisor);
    const int r = fast_divide(tap, conv.by_kernel_w);
    const int y = y0 + r, x = x0 + tap - r * conv.kernel_w;
    const bool inside = static_cast<unsigned>(y) < static_cast<unsigned>(conv.in_h) &&
                        static_cast<unsigned>(x) < static_cast<unsigned>(conv.in_w);
    return inside ? image[channel * plane + y * conv.in_w + x] : 0.0f;
  }

  __device__ void load(int k0) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) values[i] = fetch(k0 + threadIdx.x / COLS + i * kStep);
  }
  template <int LD>
  __device__ void store(float (*shared)[LD]) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      shared[threadIdx.x / COLS + i * kStep][threadIdx.x % COLS] = values[i];
  }
};

__device__ __forceinline__ void write_value(const ConvArgs& c, int channel, int pixel, float sum) {
  const int area = c.out_h * c.out_w;
  if (channel >= c.out_channels || pixel >= c.batch * area) return;
  const int index = fast_divide(pixel, c.by_out_area);
  const long long at = (static_cast<long long>(index) * c.out_channels + channel) * area + pixel -
                       static_cast<long long>(index) * area;
  const float scale = c.scale != nullptr ? c.scale[channel] : 1.0f;
  const float shift = c.shift != nullptr ? c.shift[channel] : 0.0f;
  const float residual = c.residual != nullptr ? c.residual[at] : 0.0f;
  c.output[at] = activate_value(fmaf(sum, scale, shift) + residual, c.activation);
}

template <class Tile, bool kPointwise>
__device__ __forceinline__ void conv(const ConvArgs& c) {
  __shared__ __align__(16) typename Tile::Shared shared;
  const int k_count = c.in_channels * c.kernel_h * c.kernel_w;
  const int channel0 = blockIdx.y * Tile::kM, pixel0 = blockIdx.x * Tile::kN;

  float acc[Tile::kTm][Tile::kTn] = {};
  RowPanel<Tile::kM, Tile::kK, Tile::kThreads> weights{
      c.weights + static_cast<long long>(channel0) * k_count,
      k_count,
      c.out_channels - channel0,
      k_count,
      (c.vector_flags & kVectorA) != 0,
      {}};
  PixelPanel<Tile::kN, Tile::kK, Tile::kThreads, kPointwise> pixels(
      c, k_count, pixel0 + static_cast<int>(threadIdx.x) % Tile::kN);
  tile_product<Tile>(weights, pixels, k_count, shared, acc);

  write_tile<Tile>(shared, acc, [&](int row, int col, float sum) {
    write_value(c, channel0 + row, pixel0 + col, sum);
  });
}

static_assert(Tile128::kThreads == block_size::conv_128x128);
static_assert(Tile64::kThreads == block_size::conv_64x64);

GACER_GLOBAL(conv_128x128)(ConvArgs args) {
  conv<Tile128, false>(args);
}
GACER_GLOBAL(conv_64x64)(ConvArgs args) {
  conv<Tile64, false>(args);
}
GACER_GLOBAL(conv_1x1_128x128)(ConvArgs args) {
  conv<Tile128, true>(args);
}
GACER_GLOBAL(conv_1x1_64x64)(ConvArgs args) {
  conv<Tile64, true>(args);
}

}  // namespace gacer::kernels
