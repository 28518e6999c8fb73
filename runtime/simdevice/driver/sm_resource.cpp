// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/sm_resource.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace gacer::simdriver {
namespace {

constexpr uint32_t kSealed = 0x534d'7273;  // fills the padding of resources of this driver

// Kept in CUdevResource::_internal_padding.
struct Sealed {
  uint32_t seal;
  uint32_t split;
  int32_t device;
  uint32_t reserved;
  uint64_t words[4];
};
static_assert(sizeof(Sealed) <= sizeof(CUdevResource::_internal_padding));

// Smallest partition and the unit it grows by.
struct Granularity {
  uint32_t least = 2;
  uint32_t step = 2;
};

Granularity granularity(const DeviceSpec& spec, unsigned flags) {
  if (spec.compute_major >= 9)
    return (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0 ? Granularity{2, 2}
                                                                          : Granularity{8, 8};
  if (spec.compute_major == 8)
    return (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0 ? Granularity{2, 2}
                                                                          : Granularity{4, 2};
  return {2, 2};
}

// Takes the first `count` SMs out of `from`.
simdevice::SmMask take(simdevice::SmMask& from, uint32_t count) {
  simdevice::SmMask taken;
  for (uint32_t sm = 0; sm < 256 && count > 0; ++sm) {
    if ((from.words[sm / 64] >> (sm % 64) & 1) == 0) continue;
    taken.add(sm);
    from.words[sm / 64] &= ~(uint64_t{1} << (sm % 64));
    --count;
  }
  return taken;
}

uint32_t next_split() {
  static std::atomic<uint32_t> splits{0};
  return splits.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

SmResource whole_device(const DeviceSpec& spec, CUdevice device) {
  SmResource resource;
  resource.device = device;
  for (uint32_t sm = 0; sm < spec.sm_count; ++sm) resource.sms.add(sm);
  return resource;
}

CUdevResource to_dev_resource(const DeviceSpec& spec, const SmResource& resource) {
  CUdevResource out{};
  if (resource.sms.count() == 0) return out;  // CU_DEV_RESOURCE_TYPE_INVALID
  out.type = CU_DEV_RESOURCE_TYPE_SM;
  Sealed sealed{kSealed, resource.split, resource.device, 0, {}};
  std::copy(resource.sms.words.begin(), resource.sms.words.end(), sealed.words);
  memcpy(out._internal_padding, &sealed, sizeof sealed);
  out.sm.smCount = resource.sms.count();
  out.sm.minSmPartitionSize = granularity(spec, 0).least;
  out.sm.smCoscheduledAlignment = granularity(spec, 0).step;
  return out;
}

CUresult from_dev_resource(const CUdevResource& in, SmResource& out) {
  Sealed sealed{};
  memcpy(&sealed, in._internal_padding, sizeof sealed);
  if (in.type != CU_DEV_RESOURCE_TYPE_SM || sealed.seal != kSealed)
    return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  std::copy(std::begin(sealed.words), std::end(sealed.words), out.sms.words.begin());
  out.device = sealed.device;
  out.split = sealed.split;
  return out.sms.count() == 0 ? CUDA_ERROR_INVALID_RESOURCE_TYPE : CUDA_SUCCESS;
}

CUresult split_sms(const DeviceSpec& spec, const SmResource& from, unsigned min_count,
                   unsigned flags, uint32_t most_groups, SmSplit& out) {
  constexpr unsigned kFlags = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                              CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  const uint32_t available = from.sms.count();
  const bool clusters = (flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE) != 0;
  if ((flags & ~kFlags) != 0 || min_count > available || (clusters && spec.compute_major < 9))
    return CUDA_ERROR_INVALID_VALUE;
  if (from.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;  // was split already
  const Granularity unit = granularity(spec, flags);
  const uint32_t wanted = std::max(min_count, unit.least);
  const uint32_t size = (wanted + unit.step - 1) / unit.step * unit.step;
  const uint32_t groups = std::min(available / size, most_groups);
  if (groups == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  simdevice::SmMask left = from.sms;
  const uint32_t split = next_split();
  for (uint32_t i = 0; i < groups; ++i)
    out.groups.push_back({take(left, size), from.device, split});
  out.remaining = {left, from.device, split};
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
