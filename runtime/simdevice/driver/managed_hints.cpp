// SPDX-License-Identifier: Apache-2.0
// cuMemPrefetchAsync, cuMemAdvise, cuMemRangeGetAttribute(s)
#include <unistd.h>

#include <memory>
#include <vector>

#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/range_advice.h"

using namespace gacer::simdriver;

namespace {

struct Pages {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Widened to whole pages, as advice is.
CUresult managed_pages(CUdeviceptr address, size_t bytes, Pages& out) {
  const auto allocation = Driver::get().memory.find(address, bytes);
  const bool managed = bytes > 0 && allocation && allocation->kind == MemoryKind::kManaged;
  if (!managed) return CUDA_ERROR_INVALID_VALUE;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  out = {address / page * page, (address + bytes + page - 1) / page * page};
  return CUDA_SUCCESS;
}

CUmemLocation to_location(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, 0};
  return {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

// The simulated host has one NUMA node.
CUresult check_location(CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return check_device(location.id);
    case CU_MEM_LOCATION_TYPE_HOST:
      location.id = 0;
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult prefetch_to(CUstream handle, CUdeviceptr address, size_t bytes, CUmemLocation location,
                     unsigned flags) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_location(location));
  Pages pages;
  SIM_TRY(managed_pages(address, bytes, pages));
  range_advice().change(pages.begin, pages.end,
                        [&](PageAdvice& page) { page.prefetched = location; });
  return CUDA_SUCCESS;
}

CUresult prefetch(CUstream handle, CUdeviceptr address, size_t bytes, CUdevice device) {
  return prefetch_to(handle, address, bytes, to_location(device), 0);
}

// Operations of a batch and the places that their locations hold from.
struct RangeBatch {
  const CUdeviceptr* addresses;
  const size_t* sizes;
  size_t count;
};
struct LocationBatch {
  const CUmemLocation* locations;
  const size_t* first;
  size_t count;

  bool valid(size_t operations) const {
    if (locations == nullptr || first == nullptr || count == 0 || count > operations ||
        first[0] != 0)
      return false;
    for (size_t i = 1; i < count; ++i)
      if (first[i] <= first[i - 1] || first[i] >= operations) return false;
    return true;
  }
  CUmemLocation of(size_t operation) const {
    size_t i = count - 1;
    while (first[i] > operation) --i;
    return locations[i];
  }
};

// Every operation is checked before the first is done.
CUresult check_ranges(CUstream handle, const RangeBatch& batch, unsigned long long flags,
                      std::vector<Pages>& out) {
  if (handle == nullptr || handle == kLegacyStream) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (flags != 0 || batch.addresses == nullptr || batch.sizes == nullptr || batch.count == 0)
    return CUDA_ERROR_INVALID_VALUE;
  out.resize(batch.count);
  for (size_t i = 0; i < batch.count; ++i)
    SIM_TRY(managed_pages(batch.addresses[i], batch.sizes[i], out[i]));
  return CUDA_SUCCESS;
}

CUresult prefetch_batch(CUstream handle, RangeBatch batch, LocationBatch locations,
                        unsigned long long flags) {
  std::vector<Pages> pages;
  SIM_TRY(check_ranges(handle, batch, flags, pages));
  if (!locations.valid(batch.count)) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < batch.count; ++i) {
    CUmemLocation location = locations.of(i);
    SIM_TRY(check_location(location));
    range_advice().change(pages[i].begin, pages[i].end,
                          [&](PageAdvice& page) { page.prefetched = location; });
  }
  return CUDA_SUCCESS;
}

// What was there may stay: a discarded range has no defined contents.
CUresult discard_batch(CUstream handle, RangeBatch batch, unsigned long long flags) {
  std::vector<Pages> pages;
  return check_ranges(handle, batch, flags, pages);
}

void set_accessor(PageAdvice& page, const CUmemLocation& location, bool set) {
  if (location.type == CU_MEM_LOCATION_TYPE_HOST) {
    page.accessed_by_cpu = set;
    return;
  }
  const uint32_t bit = 1U << location.id;
  page.accessed_by = set ? page.accessed_by | bit : page.accessed_by & ~bit;
}

// What an advice needs of its location; some ignore it.
CUresult check_advice(CUmem_advise advice, CUmemLocation& location) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      return check_location(location);
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      if (location.type != CU_MEM_LOCATION_TYPE_DEVICE &&
          location.type != CU_MEM_LOCATION_TYPE_HOST)
        return CUDA_ERROR_INVALID_VALUE;
      return check_location(location);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void apply(CUmem_advise advice, const CUmemLocation& location, PageAdvice& page) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      page.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
      return;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      page.preferred = location;
      return;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      page.preferred = {};
      return;
    default:
      set_accessor(page, location, advice == CU_MEM_ADVISE_SET_ACCESSED_BY);
  }
}

CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  SIM_TRY(Driver::get().ready());
  SIM_TRY(check_advice(advice, location));
  Pages pages;
  SIM_TRY(managed_pages(address, bytes, pages));
  range_advice().change(pages.begin, pages.end,
                        [&](PageAdvice& page) { apply(advice, location, page); });
  return CUDA_SUCCESS;
}

}  // namespace

SIM_STREAM_PAIR(cuMemPrefetchAsync, _ptsz,
                (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream), prefetch,
                stream, address, bytes, device)
SIM_STREAM_PAIR(cuMemPrefetchAsync_v2, _ptsz,
                (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                 CUstream stream),
                prefetch_to, stream, address, bytes, location, flags)

SIM_STREAM_PAIR(cuMemPrefetchBatchAsync, _ptsz,
                (CUdeviceptr * addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                 size_t* first, size_t location_count, unsigned long long flags, CUstream stream),
                prefetch_batch, stream, {addresses, sizes, count},
                {locations, first, location_count}, flags)
SIM_STREAM_PAIR(cuMemDiscardBatchAsync, _ptsz,
                (CUdeviceptr * addresses, size_t* sizes, size_t count, unsigned long long flags,
                 CUstream stream),
                discard_batch, stream, {addresses, sizes, count}, flags)
SIM_STREAM_PAIR(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
                (CUdeviceptr * addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                 size_t* first, size_t location_count, unsigned long long flags, CUstream stream),
                prefetch_batch, stream, {addresses, sizes, count},
                {locations, first, location_count}, flags)

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return advise(address, bytes, advice, to_location(device));
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                        CUmemLocation location) {
  return advise(address, bytes, advice, location);
}

CUresult cuMemRangeGetAttribute(void* out, size_t bytes, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t count) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Pages pages;
  SIM_TRY(managed_pages(address, count, pages));
  return read_advice(range_advice(), pages.begin, pages.end, attribute, out, bytes);
}

CUresult cuMemRangeGetAttributes(void** out, size_t* bytes, CUmem_range_attribute* attributes,
                                 size_t attribute_count, CUdeviceptr address, size_t count) {
  SIM_TRY(Driver::get().ready());
  if (out == nullptr || bytes == nullptr || attributes == nullptr || attribute_count == 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < attribute_count; ++i)
    SIM_TRY(cuMemRangeGetAttribute(out[i], bytes[i], attributes[i], address, count));
  return CUDA_SUCCESS;
}
