// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/specials.h"

#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {
namespace {

constexpr SpecialInfo kSpecials[] = {
#define GACER_SPECIAL(id, spelling, bits, value) {Special::id, spelling, bits},
#include "runtime/simdevice/exec/specials.def"
#undef GACER_SPECIAL
};
static_assert(static_cast<uint32_t>(Special::kCount) <= 64,
              "ProgramCode::special_used is one word");

struct SpecialSource {
  const LaunchContext& launch;
  const LaunchShape& s;
  const BlockRun& block;
  const std::array<uint32_t, 3>& c;
  uint32_t warp;
  uint32_t first_thread;
  uint32_t shared;
  uint32_t dynamic;
};

uint64_t special_value(Special id, const SpecialSource& from, uint32_t lane) {
  const auto& [launch, s, block, c, warp, first_thread, shared, dynamic] = from;
  const uint32_t t = first_thread + lane;
  switch (id) {
#define GACER_SPECIAL(name, spelling, bits, value) \
  case Special::name:                              \
    return static_cast<uint64_t>(value);
#include "runtime/simdevice/exec/specials.def"
#undef GACER_SPECIAL
    case Special::kCount:
      break;
  }
  return 0;
}

}  // namespace

std::optional<SpecialInfo> special_from(std::string_view spelling) {
  for (const auto& info : kSpecials)
    if (info.spelling == spelling) return info;
  // %envreg0 to %envreg31 are the driver's; those that it gives no meaning are zero.
  if (spelling.substr(0, 7) == "%envreg" && (spelling.size() == 8 || spelling.size() == 9))
    return kSpecials[static_cast<size_t>(Special::kEnvreg)];
  return std::nullopt;
}

bool Warp::SpecialKey::operator==(const SpecialKey& o) const {
  return shape.grid == o.shape.grid && shape.block == o.shape.block &&
         shape.dynamic_smem_bytes == o.shape.dynamic_smem_bytes &&
         shape.cluster == o.shape.cluster && cooperative == o.cooperative &&
         sm_count == o.sm_count && used == o.used && shared_bytes == o.shared_bytes &&
         first_thread == o.first_thread;
}

void Warp::fill_special(const SpecialInfo& info) {
  const uint32_t slot = static_cast<uint32_t>(info.id);
  const LaunchContext& launch = block_->launch();
  const SpecialSource from{launch,
                           launch.shape,
                           *block_,
                           block_->coords(),
                           first_thread_ / kLanes,
                           first_thread_,
                           static_cast<uint32_t>(block_->own_shared_bytes()),
                           launch.shape.dynamic_smem_bytes};
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t value = special_value(info.id, from, lane);
    if (info.bits == 64) {
      reinterpret_cast<uint64_t*>(special_[slot].bytes)[lane] = value;
    } else {
      reinterpret_cast<uint32_t*>(special_[slot].bytes)[lane] = static_cast<uint32_t>(value);
    }
  }
}

void Warp::fill_specials() {
  special_.resize(static_cast<size_t>(Special::kCount));
  const LaunchContext& launch = block_->launch();
  const SpecialKey key{launch.shape,  launch.code->special_used, block_->shared_bytes(),
                       first_thread_, launch.sm_count,           launch.workspace != nullptr};
  const bool known = key == special_key_;
  special_key_ = key;
  for (const auto& info : kSpecials) {
    const bool is_used = (launch.code->special_used >> static_cast<uint32_t>(info.id) & 1) != 0;
    if (is_used && (differs_by_block(info.id) || !known)) fill_special(info);
  }
}

}  // namespace gacer::simdevice
