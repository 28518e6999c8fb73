// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces that kernels of one context may name by handle. A table is immutable while
// a launch that was given it runs; descriptors may say anything: every element they lead to is
// looked up in the launch's AddressSpace, and what is not there is a fault of the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace gacer::simdevice {

// Numbers are part of the protocol (sim_messages.h).
enum class ImageKind : uint8_t {
  kLinear,   // memory of `width` elements: fetched by integer
  kPitched,  // rows of memory
  k1d,
  k2d,
  k3d,
  k1dLayered,
  k2dLayered,
  kCube,  // six layers
  kCubeLayered,
  kCount
};
enum class TexelKind : uint8_t { kUnsigned, kSigned, kFloat, kCount };
enum class AddressMode : uint8_t { kWrap, kClamp, kMirror, kBorder, kCount };  // as CUaddress_mode

// Extents in elements, at least 1; depth: slices or layers.
struct ImageLevel {
  uint64_t address = 0;
  uint64_t pitch = 0;  // bytes
  uint64_t slice_pitch = 0;
  uint32_t width = 1, height = 1, depth = 1;
};

struct Image {
  ImageKind kind = ImageKind::k2d;
  TexelKind texel = TexelKind::kFloat;
  uint8_t component_bytes = 4;  // 1, 2, 4; kFloat: 2, 4
  uint8_t channels = 1;         // 1, 2, 4
  bool normalised =
      false;  // UNORM and SNORM formats: integers that always read as [0, 1] or [-1, 1]
  std::vector<ImageLevel> levels{1};  // never empty
  uint32_t element_bytes() const { return uint32_t{component_bytes} * channels; }
};

struct Sampler {
  AddressMode address[3] = {AddressMode::kClamp, AddressMode::kClamp, AddressMode::kClamp};
  bool linear = false;
  bool linear_levels = false;
  bool normalised = false;  // coordinates in [0, 1)
  bool as_integer = true;   // 8- and 16-bit integers stay integers
  bool srgb = false;        // 8-bit unsigned colours are made linear
  float bias = 0, least_level = 0, greatest_level = 0;
  float border[4] = {0, 0, 0, 0};
};

struct Texture {
  Image image;
  Sampler sampler;
};
struct Surface {
  Image image;
};

class TextureTable {
 public:
  // nullptr: no such handle.
  const Texture* texture(uint64_t handle) const { return find(textures_, handle); }
  const Surface* surface(uint64_t handle) const { return find(surfaces_, handle); }
  void add(uint64_t handle, Texture texture) {
    textures_[handle] = std::make_shared<const Texture>(std::move(texture));
  }
  void add(uint64_t handle, Surface surface) {
    surfaces_[handle] = std::make_shared<const Surface>(std::move(surface));
  }
  // False: neither.
  bool remove(uint64_t handle) { return textures_.erase(handle) + surfaces_.erase(handle) != 0; }
  size_t size() const { return textures_.size() + surfaces_.size(); }

 private:
  template <typename T>
  using Entries = std::map<uint64_t, std::shared_ptr<const T>>;
  template <typename T>
  static const T* find(const Entries<T>& entries, uint64_t handle) {
    const auto found = entries.find(handle);
    return found == entries.end() ? nullptr : found->second.get();
  }
  Entries<Texture> textures_;
  Entries<Surface> surfaces_;
};

}  // namespace gacer::simdevice
