// SPDX-License-Identifier: Apache-2.0
// What programs have advised about managed memory (cuMemAdvise, cuMemPrefetchAsync). Managed memory
// lives in one place that host and device share, so advice moves nothing: it is only told back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "runtime/simdevice/driver/cuda_api.h"

namespace gacer::simdriver {

// A location of type CU_MEM_LOCATION_TYPE_INVALID (0) means: none.
struct PageAdvice {
  bool read_mostly = false;
  CUmemLocation preferred{};
  CUmemLocation prefetched{};
  uint32_t accessed_by = 0;  // a bit for each device
  bool accessed_by_cpu = false;
};

// Thread-safe.
class RangeAdvice {
 public:
  using Change = std::function<void(PageAdvice&)>;
  using Visit = std::function<void(const PageAdvice&)>;

  RangeAdvice() { segments_[0] = {}; }
  void change(uint64_t begin, uint64_t end, const Change& change);
  // Each piece of [begin, end) that has been advised alike, at least one.
  void visit(uint64_t begin, uint64_t end, const Visit& visit) const;

 private:
  using Segments = std::map<uint64_t, PageAdvice>;
  // Makes a segment begin at `address`.
  Segments::iterator split(uint64_t address);

  mutable std::mutex mutex_;
  Segments segments_;  // by first address, each to the beginning of the next
};

RangeAdvice& range_advice();

// cuMemRangeGetAttribute for [begin, end). CUDA_ERROR_INVALID_VALUE: no such attribute, or `bytes`
// does not suit it.
CUresult read_advice(const RangeAdvice& advice, uint64_t begin, uint64_t end,
                     CUmem_range_attribute attribute, void* out, size_t bytes);

}  // namespace gacer::simdriver
