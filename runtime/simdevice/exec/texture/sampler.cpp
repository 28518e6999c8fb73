// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/texture/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace gacer::simdevice {
namespace {

constexpr float kMostCoordinate = 1e9f;
constexpr int64_t kOutside = -1;

uint32_t dimensions(TextureShape shape) {
  if (shape == TextureShape::k1d || shape == TextureShape::kArray1d) return 1;
  return shape == TextureShape::k3d ? 3 : 2;
}

bool is_cube(TextureShape shape) {
  return shape == TextureShape::kCube || shape == TextureShape::kCubeArray;
}

// To a multiple of 1/256, as the device's nine-bit weights are.
float to_weight(float fraction) {
  return std::floor(fraction * 256.0f + 0.5f) / 256.0f;
}

// The face that a direction meets, and where on it, in [0, 1].
struct OnFace {
  uint32_t face;
  float s, t;
};
OnFace to_face(const float v[3]) {
  const float ax = std::fabs(v[0]), ay = std::fabs(v[1]), az = std::fabs(v[2]);
  uint32_t face = v[2] >= 0 ? 4 : 5;
  float m = az, s = v[2] >= 0 ? v[0] : -v[0], t = -v[1];
  if (ax > ay && ax > az) {
    face = v[0] >= 0 ? 0 : 1;
    m = ax;
    s = v[0] >= 0 ? -v[2] : v[2];
  } else if (ay > az) {
    face = v[1] >= 0 ? 2 : 3;
    m = ay;
    s = v[0];
    t = v[1] >= 0 ? v[2] : -v[2];
  }
  return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

// One dimension of a fetch: the first element, and the weight of the next one.
struct Axis {
  int64_t first = 0;
  float weight = 0;  // point: 0, and there is no second element
  bool pair = false;
  uint32_t extent = 1;
  AddressMode mode = AddressMode::kClamp;
};

AddressMode effective_mode(AddressMode mode, bool normalised) {
  const bool needs = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
  return needs && !normalised ? AddressMode::kClamp : mode;
}

float into_unit(float x, AddressMode mode) {
  const float whole = std::floor(x);
  if (mode == AddressMode::kWrap) return x - whole;
  if (mode != AddressMode::kMirror) return x;
  return std::fmod(whole, 2.0f) == 0 ? x - whole : 1 - (x - whole);
}

Axis make_axis(float x, uint32_t extent, AddressMode mode, bool normalised, bool linear,
               int32_t offset) {
  Axis axis;
  axis.extent = extent;
  axis.mode = effective_mode(mode, normalised);
  axis.pair = linear;
  if (normalised) x = into_unit(x, axis.mode) * static_cast<float>(extent);
  if (linear) x -= 0.5f;
  x = std::isnan(x) ? 0.0f : std::clamp(x, -kMostCoordinate, kMostCoordinate);
  const float whole = std::floor(x);
  axis.first = static_cast<int64_t>(whole) + offset;
  if (linear) axis.weight = to_weight(x - whole);
  return axis;
}

// The element that stands for index i, or kOutside.
int64_t element_at(const Axis& axis, int64_t i) {
  const int64_t n = axis.extent;
  switch (axis.mode) {
    case AddressMode::kWrap:
      return ((i % n) + n) % n;
    case AddressMode::kMirror: {
      const int64_t m = ((i % (2 * n)) + 2 * n) % (2 * n);
      return m < n ? m : 2 * n - 1 - m;
    }
    case AddressMode::kBorder:
      return i >= 0 && i < n ? i : kOutside;
    default:
      return std::clamp<int64_t>(i, 0, n - 1);
  }
}

class Fetch {
 public:
  Fetch(const Texture& texture, const TextureRequest& request, TexelSource& source)
      : texture_(texture), request_(request), source_(source) {}

  // Places the axes on one level. `linear`: of the footprint, not necessarily of the filter.
  void place(uint32_t level, bool linear) {
    level_ = &texture_.image.levels[level];
    const uint32_t extents[3] = {level_->width, level_->height, level_->depth};
    const bool cube = is_cube(request_.shape);
    OnFace on{0, 0, 0};
    if (cube) on = to_face(request_.at);
    const float at[3] = {cube ? on.s : request_.at[0], cube ? on.t : request_.at[1],
                         request_.at[2]};
    for (uint32_t d = 0; d < dimensions(request_.shape); ++d) {
      if (request_.integer) {
        axes_[d] = {};
        axes_[d].first = int64_t{request_.whole[d]} + request_.offset[d];
        axes_[d].extent = extents[d];
        axes_[d].mode = effective_mode(texture_.sampler.address[d], false);
      } else {
        axes_[d] =
            make_axis(at[d], extents[d], cube ? AddressMode::kClamp : texture_.sampler.address[d],
                      cube || texture_.sampler.normalised, linear, request_.offset[d]);
      }
    }
    slice_ = slice_of(on.face);
  }

  // The element at these corners (0 or 1 along each axis).
  bool corner(uint32_t x, uint32_t y, uint32_t z, Texel& out) {
    const int64_t i = element_at(axes_[0], axes_[0].first + x);
    const int64_t j = element_at(axes_[1], axes_[1].first + y);
    const int64_t k =
        request_.shape == TextureShape::k3d ? element_at(axes_[2], axes_[2].first + z) : slice_;
    if (texture_.image.kind == ImageKind::kLinear && axes_[0].first + x != i) {
      out = Texel{};
      return true;
    }
    if (i == kOutside || j == kOutside || k == kOutside) {
      out = border_texel(texture_.image, texture_.sampler);
      return true;
    }
    uint8_t bytes[16];
    const uint32_t size = texture_.image.element_bytes();
    const uint64_t address = level_->address + static_cast<uint64_t>(k) * level_->slice_pitch +
                             static_cast<uint64_t>(j) * level_->pitch +
                             static_cast<uint64_t>(i) * size;
    if (!source_.read(address, size, bytes)) return false;
    out = decode_texel(bytes, texture_.image, texture_.sampler);
    return true;
  }

  bool filtered(Texel& out) {
    float sum[4] = {0, 0, 0, 0};
    for (uint32_t z = 0; z <= axes_[2].pair; ++z)
      for (uint32_t y = 0; y <= axes_[1].pair; ++y)
        for (uint32_t x = 0; x <= axes_[0].pair; ++x) {
          const float weight = part(0, x) * part(1, y) * part(2, z);
          Texel one;
          if (!corner(x, y, z, one)) return false;
          for (uint32_t c = 0; c < 4; ++c) sum[c] += weight * std::bit_cast<float>(one[c]);
        }
    for (uint32_t c = 0; c < 4; ++c) out[c] = std::bit_cast<uint32_t>(sum[c]);
    return true;
  }

 private:
  float part(uint32_t axis, uint32_t upper) const {
    return upper != 0 ? axes_[axis].weight : 1 - axes_[axis].weight;
  }

  int64_t slice_of(uint32_t face) const {
    const TextureShape shape = request_.shape;
    uint64_t slice = 0;
    if (shape == TextureShape::kArray1d || shape == TextureShape::kArray2d) slice = request_.layer;
    if (shape == TextureShape::kCube) slice = face;
    if (shape == TextureShape::kCubeArray) {
      const uint64_t cubes = std::max<uint64_t>(level_->depth / 6, 1);
      slice = std::min<uint64_t>(request_.layer, cubes - 1) * 6 + face;
    }
    return static_cast<int64_t>(std::min<uint64_t>(slice, level_->depth - 1));
  }

  const Texture& texture_;
  const TextureRequest& request_;
  TexelSource& source_;
  const ImageLevel* level_ = nullptr;
  Axis axes_[3];
  int64_t slice_ = 0;
};

// Base-two logarithm of how many elements of level 0 one step covers.
float gradient_level(const Texture& texture, const TextureRequest& request) {
  const ImageLevel& base = texture.image.levels.front();
  const uint32_t extents[3] = {base.width, base.height, base.depth};
  float longest = 0;
  for (const float* step : {request.dx, request.dy}) {
    float squares = 0;
    for (uint32_t d = 0; d < dimensions(request.shape); ++d) {
      const float scale = texture.sampler.normalised ? static_cast<float>(extents[d]) : 1.0f;
      squares += step[d] * scale * step[d] * scale;
    }
    longest = std::max(longest, std::sqrt(squares));
  }
  return longest > 0 ? std::log2(longest) : -126.0f;
}

float level_of(const Texture& texture, const TextureRequest& request) {
  if (request.choice == LevelChoice::kBase) return 0;
  const Sampler& sampler = texture.sampler;
  float level =
      request.choice == LevelChoice::kExplicit ? request.level : gradient_level(texture, request);
  if (std::isnan(level)) level = 0;
  level = std::min(std::max(level + sampler.bias, sampler.least_level), sampler.greatest_level);
  const float last = static_cast<float>(texture.image.levels.size() - 1);
  return std::min(std::max(level, 0.0f), last);
}

bool sample_level(Fetch& fetch, const Texture& texture, const TextureRequest& request,
                  uint32_t level, Texel& out) {
  const bool linear = texture.sampler.linear && !request.integer &&
                      texture.image.kind != ImageKind::kLinear &&
                      reads_floats(texture.image, texture.sampler);
  fetch.place(level, linear);
  return linear ? fetch.filtered(out) : fetch.corner(0, 0, 0, out);
}

}  // namespace

bool sample_texture(const Texture& texture, const TextureRequest& request, TexelSource& source,
                    Texel& out) {
  Fetch fetch(texture, request, source);
  const float level = level_of(texture, request);
  const bool between =
      texture.sampler.linear_levels && reads_floats(texture.image, texture.sampler);
  if (!between)
    return sample_level(fetch, texture, request, static_cast<uint32_t>(level + 0.5f), out);
  const auto lower = static_cast<uint32_t>(level);
  const float weight = to_weight(level - static_cast<float>(lower));
  if (!sample_level(fetch, texture, request, lower, out)) return false;
  if (weight == 0) return true;
  Texel upper;
  if (!sample_level(fetch, texture, request, lower + 1, upper)) return false;
  for (uint32_t c = 0; c < 4; ++c)
    out[c] = std::bit_cast<uint32_t>((1 - weight) * std::bit_cast<float>(out[c]) +
                                     weight * std::bit_cast<float>(upper[c]));
  return true;
}

bool gather_texture(const Texture& texture, const TextureRequest& request, uint32_t component,
                    TexelSource& source, Texel& out) {
  Fetch fetch(texture, request, source);
  fetch.place(0, true);
  constexpr uint32_t kCorners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  for (uint32_t i = 0; i < 4; ++i) {
    Texel one;
    if (!fetch.corner(kCorners[i][0], kCorners[i][1], 0, one)) return false;
    out[i] = one[component];
  }
  return true;
}

}  // namespace gacer::simdevice
