// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/range_advice.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace gacer::simdriver {
namespace {

bool same(const CUmemLocation& a, const CUmemLocation& b) {
  return a.type == b.type && (a.id == b.id || a.type == CU_MEM_LOCATION_TYPE_HOST);
}

// The location that all pieces agree on; type INVALID when they do not.
CUmemLocation common(const RangeAdvice& advice, uint64_t begin, uint64_t end,
                     CUmemLocation PageAdvice::*which) {
  std::optional<CUmemLocation> found;
  bool differ = false;
  advice.visit(begin, end, [&](const PageAdvice& page) {
    differ |= found && !same(*found, page.*which);
    found = page.*which;
  });
  return differ || !found ? CUmemLocation{} : *found;
}

// As the older attributes tell it: a device, CU_DEVICE_CPU or CU_DEVICE_INVALID.
CUdevice as_device(const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return location.id;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return CU_DEVICE_CPU;
    default:
      return CU_DEVICE_INVALID;
  }
}

CUresult put(int value, void* out, size_t bytes) {
  if (bytes != sizeof value) return CUDA_ERROR_INVALID_VALUE;
  memcpy(out, &value, sizeof value);
  return CUDA_SUCCESS;
}

CUresult put_accessors(const RangeAdvice& advice, uint64_t begin, uint64_t end, void* out,
                       size_t bytes) {
  if (bytes == 0 || bytes % sizeof(CUdevice) != 0) return CUDA_ERROR_INVALID_VALUE;
  uint32_t devices = ~0U;
  bool cpu = true;
  advice.visit(begin, end, [&](const PageAdvice& page) {
    devices &= page.accessed_by;
    cpu = cpu && page.accessed_by_cpu;
  });
  std::vector<CUdevice> list;
  for (CUdevice device = 0; device < 32; ++device)
    if ((devices >> device & 1) != 0) list.push_back(device);
  if (cpu) list.push_back(CU_DEVICE_CPU);
  list.resize(bytes / sizeof(CUdevice), CU_DEVICE_INVALID);
  memcpy(out, list.data(), bytes);
  return CUDA_SUCCESS;
}

bool all_read_mostly(const RangeAdvice& advice, uint64_t begin, uint64_t end) {
  bool all = true;
  advice.visit(begin, end, [&](const PageAdvice& page) { all = all && page.read_mostly; });
  return all;
}

}  // namespace

RangeAdvice& range_advice() {
  static RangeAdvice& advice = *new RangeAdvice;
  return advice;
}

RangeAdvice::Segments::iterator RangeAdvice::split(uint64_t address) {
  const auto before = std::prev(segments_.upper_bound(address));
  return segments_.try_emplace(address, before->second).first;
}

void RangeAdvice::change(uint64_t begin, uint64_t end, const Change& change) {
  const std::lock_guard lock(mutex_);
  const auto first = split(begin);
  const auto last = split(end);
  for (auto it = first; it != last; ++it) change(it->second);
}

void RangeAdvice::visit(uint64_t begin, uint64_t end, const Visit& visit) const {
  const std::lock_guard lock(mutex_);
  for (auto it = std::prev(segments_.upper_bound(begin)); it != segments_.end() && it->first < end;
       ++it)
    visit(it->second);
}

CUresult read_advice(const RangeAdvice& advice, uint64_t begin, uint64_t end,
                     CUmem_range_attribute attribute, void* out, size_t bytes) {
  const CUmemLocation preferred = common(advice, begin, end, &PageAdvice::preferred);
  const CUmemLocation prefetched = common(advice, begin, end, &PageAdvice::prefetched);
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return put(all_read_mostly(advice, begin, end) ? 1 : 0, out, bytes);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return put(as_device(preferred), out, bytes);
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return put_accessors(advice, begin, end, out, bytes);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return put(as_device(prefetched), out, bytes);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return put(preferred.type, out, bytes);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return put(preferred.id, out, bytes);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return put(prefetched.type, out, bytes);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return put(prefetched.id, out, bytes);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace gacer::simdriver
