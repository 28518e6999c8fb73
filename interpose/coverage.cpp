// SPDX-License-Identifier: Apache-2.0
#include "interpose/coverage.h"

#include "interpose/shim.h"

namespace gacer::interpose {
namespace {

abi::CoverageStream kind_of(StreamRef stream) {
  if (stream.handle == CU_STREAM_PER_THREAD) return abi::CoverageStream::kPerThread;
  if (stream.handle == CU_STREAM_LEGACY) return abi::CoverageStream::kLegacy;
  if (stream.handle != nullptr) return abi::CoverageStream::kCreated;
  return stream.null_is_per_thread ? abi::CoverageStream::kPerThread : abi::CoverageStream::kLegacy;
}

}  // namespace

void count_unregulated(abi::CoveredFunction, abi::CoverageStream) {
  if (Attachment* attachment = shim().session.current())
    attachment->segment.progress.unregulated.fetch_add(1, std::memory_order_relaxed);
}

void count_unregulated(abi::CoveredFunction function, StreamRef stream, bool capturing) {
  count_unregulated(function, capturing ? abi::CoverageStream::kCapturing : kind_of(stream));
}

}  // namespace gacer::interpose
