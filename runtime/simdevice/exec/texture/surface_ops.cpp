// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/texture/surface_ops.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "runtime/simdevice/exec/texture/lane_traffic.h"

namespace gacer::simdevice {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

bool has_layer(SurfaceShape shape) {
  return shape == SurfaceShape::kArray1d || shape == SurfaceShape::kArray2d;
}
uint32_t dimensions(SurfaceShape shape) {
  return shape == SurfaceShape::k3d                                      ? 3
         : shape == SurfaceShape::k2d || shape == SurfaceShape::kArray2d ? 2
                                                                         : 1;
}

// Of a lane's coordinate along one axis with `count` places.
bool settle(int64_t& at, int64_t count, SurfaceBounds bounds, bool& outside) {
  if (at >= 0 && at < count) return true;
  outside = true;
  at = std::clamp<int64_t>(at, 0, std::max<int64_t>(count - 1, 0));
  return bounds != SurfaceBounds::kTrap;
}

class SurfaceAccess {
 public:
  SurfaceAccess(Warp& warp, const Insn& in)
      : warp_(warp), in_(in), op_(std::bit_cast<SurfaceOp>(in.imm)), memory_(warp) {}

  // f(lane, host bytes or nullptr, surface): nullptr: outside, with bounds kZero.
  template <typename F>
  bool each_lane(uint32_t mask, F f) {
    for (; mask != 0; mask &= mask - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
      uint8_t* host = nullptr;
      if (!locate(lane, host)) return false;
      f(lane, host, *surface_);
    }
    return true;
  }
  const SurfaceOp& op() const { return op_; }
  void count(bool is_write) { memory_.count(is_write); }
  const Ref* data() const {
    return warp_.frame().code->lists.data() + in_.list.first +
           (in_.list.defs != 0 ? 0 : has_layer(op_.shape) + dimensions(op_.shape));
  }

 private:
  int64_t coordinate(uint32_t index, uint32_t lane) const {
    const Ref* refs = warp_.frame().code->lists.data() + in_.list.first + in_.list.defs;
    return warp_.lanes<int32_t>(refs[index])[lane];
  }

  bool find_surface(uint32_t lane) {
    const uint64_t handle = warp_.lanes<uint64_t>(in_.a)[lane];
    const TextureTable* table = warp_.block().launch().textures;
    if (surface_ == nullptr || handle != handle_)
      surface_ = table == nullptr ? nullptr : table->surface(handle);
    handle_ = handle;
    return surface_ != nullptr ||
           warp_.fault(FaultKind::kIllegalAddress, in_, lane,
                       hex(handle) + " is not a surface object of this context");
  }

  bool locate(uint32_t lane, uint8_t*& host) {
    if (!find_surface(lane)) return false;
    const Image& image = surface_->image;
    const ImageLevel& level = image.levels.front();
    const uint32_t element = image.element_bytes();
    const uint32_t bytes = op_.formatted ? element : uint32_t{op_.part_bytes} * op_.parts;
    const uint32_t layer = has_layer(op_.shape);
    int64_t slice = layer != 0 ? coordinate(0, lane) : 0, x = coordinate(layer, lane), y = 0;
    if (op_.formatted) x *= element;
    if (dimensions(op_.shape) > 1) y = coordinate(layer + 1, lane);
    if (dimensions(op_.shape) > 2) slice = coordinate(layer + 2, lane);
    bool outside = false;
    const int64_t row = int64_t{level.width} * element;
    if (!settle(x, row - bytes + 1, op_.bounds, outside) ||
        !settle(y, level.height, op_.bounds, outside) ||
        !settle(slice, level.depth, op_.bounds, outside))
      return warp_.fault(FaultKind::kIllegalAddress, in_, lane,
                         "coordinates outside the surface, whose boundary mode is trap");
    if (x % bytes != 0 && x % op_.part_bytes != 0)
      return warp_.fault(FaultKind::kMisalignedAddress, in_, lane,
                         "the surface's byte " + std::to_string(x) + " of a row is not aligned");
    if (outside && op_.bounds == SurfaceBounds::kZero) return true;
    if (x + bytes > row) return misfit(lane);
    const uint64_t address = level.address + static_cast<uint64_t>(slice) * level.slice_pitch +
                             static_cast<uint64_t>(y) * level.pitch + static_cast<uint64_t>(x);
    memory_.set_lane(lane);
    host = memory_.find(address, bytes);
    return host != nullptr ||
           warp_.fault(FaultKind::kIllegalAddress, in_, lane,
                       "the surface's memory at " + hex(address) + " is outside every allocation");
  }

  bool misfit(uint32_t lane) {
    return warp_.fault(FaultKind::kIllegalAddress, in_, lane,
                       "the access is wider than a row of the surface");
  }

  Warp& warp_;
  const Insn& in_;
  const SurfaceOp op_;
  LaneTraffic memory_;
  const Surface* surface_ = nullptr;
  uint64_t handle_ = 0;
};

// A register of the data, whose width is that of its part, but at least 16 bits.
void set_part(Warp& warp, Ref ref, uint32_t lane, uint32_t bytes, const uint8_t* from) {
  uint64_t value = 0;
  if (from != nullptr) std::memcpy(&value, from, bytes);
  if (bytes == 8) warp.lanes<uint64_t>(ref)[lane] = value;
  if (bytes == 4) warp.lanes<uint32_t>(ref)[lane] = static_cast<uint32_t>(value);
  if (bytes <= 2) warp.lanes<uint16_t>(ref)[lane] = static_cast<uint16_t>(value);
}

uint64_t get_part(Warp& warp, Ref ref, uint32_t lane, uint32_t bytes) {
  if (bytes == 8) return warp.lanes<uint64_t>(ref)[lane];
  if (bytes == 4) return warp.lanes<uint32_t>(ref)[lane];
  return warp.lanes<uint16_t>(ref)[lane];
}

template <typename T>
T combine(SurfaceReduce reduce, T old, T value) {
  switch (reduce) {
    case SurfaceReduce::kAdd:
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                            static_cast<std::make_unsigned_t<T>>(value));
    case SurfaceReduce::kMin:
      return std::min(old, value);
    case SurfaceReduce::kMax:
      return std::max(old, value);
    case SurfaceReduce::kAnd:
      return old & value;
    case SurfaceReduce::kOr:
      return old | value;
  }
  return old;
}

// Blocks on other threads may do the same; relaxed: reductions order nothing.
template <typename T>
void reduce_at(uint8_t* host, SurfaceReduce reduce, T value) {
  T* at = reinterpret_cast<T*>(host);
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &old, combine(reduce, old, value), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

}  // namespace

bool surface_load_handler(Warp& warp, const Insn& in, uint32_t mask) {
  SurfaceAccess access(warp, in);
  const SurfaceOp& op = access.op();
  const bool ok = access.each_lane(mask, [&](uint32_t lane, uint8_t* host, const Surface&) {
    for (uint32_t i = 0; i < op.parts; ++i)
      set_part(warp, access.data()[i], lane, op.part_bytes,
               host == nullptr ? nullptr : host + i * op.part_bytes);
  });
  if (ok) access.count(false);
  return ok;
}

bool surface_store_handler(Warp& warp, const Insn& in, uint32_t mask) {
  SurfaceAccess access(warp, in);
  const SurfaceOp& op = access.op();
  const bool ok = access.each_lane(mask, [&](uint32_t lane, uint8_t* host, const Surface& surface) {
    if (host == nullptr) return;
    Texel texel{};
    for (uint32_t i = 0; i < op.parts; ++i) {
      const uint64_t value = get_part(warp, access.data()[i], lane, op.part_bytes);
      if (op.formatted) {
        texel[i] = static_cast<uint32_t>(value);
      } else {
        std::memcpy(host + i * op.part_bytes, &value, op.part_bytes);
      }
    }
    if (op.formatted) encode_texel(texel, static_cast<StoreAs>(op.store_as), surface.image, host);
  });
  if (ok) access.count(true);
  return ok;
}

bool surface_reduce_handler(Warp& warp, const Insn& in, uint32_t mask) {
  SurfaceAccess access(warp, in);
  const SurfaceOp& op = access.op();
  bool fits = true;
  const bool ok = access.each_lane(mask, [&](uint32_t lane, uint8_t* host, const Surface& surface) {
    const uint64_t value = get_part(warp, access.data()[0], lane, op.part_bytes);
    if (op.formatted && surface.image.element_bytes() != op.part_bytes) {
      if (fits)
        warp.fault(FaultKind::kIllegalAddress, in, lane,
                   "the surface's elements have another size");
      fits = false;
    }
    if (host == nullptr || !fits) return;
    if (op.part_bytes == 8) {
      op.is_signed ? reduce_at(host, op.reduce, static_cast<int64_t>(value))
                   : reduce_at(host, op.reduce, value);
    } else {
      const auto word = static_cast<uint32_t>(value);
      op.is_signed ? reduce_at(host, op.reduce, static_cast<int32_t>(word))
                   : reduce_at(host, op.reduce, word);
    }
  });
  if (ok && fits) access.count(true);
  return ok && fits;
}

}  // namespace gacer::simdevice
