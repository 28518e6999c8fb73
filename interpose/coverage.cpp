// SPDX-License-Identifier: Apache-2.0
#include "interpose/coverage.h"

#include "interpose/shim.h"
#include "interpose/unknown_functions.h"

namespace gacer::interpose {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

constinit abi::CoverageCounts detached_counts{};
constinit UnknownFunctions unknown_functions;

abi::CoverageStream kind_of(StreamRef stream) {
  if (stream.handle == CU_STREAM_PER_THREAD) return abi::CoverageStream::kPerThread;
  if (stream.handle == CU_STREAM_LEGACY) return abi::CoverageStream::kLegacy;
  if (stream.handle != nullptr) return abi::CoverageStream::kCreated;
  return stream.null_is_per_thread ? abi::CoverageStream::kPerThread : abi::CoverageStream::kLegacy;
}

void add_one(abi::CoverageCounts& counts, abi::CoveredFunction function,
             abi::CoverageStream stream) {
  counts.calls[static_cast<uint32_t>(function)][static_cast<uint32_t>(stream)].fetch_add(1,
                                                                                         kRelaxed);
}

void refresh_if_attached() {
  if (Attachment* attachment = shim().session.current()) refresh_coverage(*attachment);
}

}  // namespace

void count_unregulated(abi::CoveredFunction function, abi::CoverageStream stream) {
  Attachment* attachment = shim().session.current();
  if (attachment == nullptr) return add_one(detached_counts, function, stream);
  attachment->segment.progress.unregulated.fetch_add(1, kRelaxed);
  add_one(attachment->segment.coverage.attached, function, stream);
}

void count_unregulated(abi::CoveredFunction function, StreamRef stream, bool capturing) {
  count_unregulated(function, capturing ? abi::CoverageStream::kCapturing : kind_of(stream));
}

void note_forwarded_function(const char* name, const uint64_t* calls) {
  unknown_functions.add_forwarded(name, calls);
  refresh_if_attached();
}

void note_handed_out_function(const char* name) {
  unknown_functions.add_handed_out(name);
  refresh_if_attached();
}

void move_coverage_to(Attachment& attachment) {
  abi::CoverageWords& words = attachment.segment.coverage;
  for (uint32_t f = 0; f < abi::kCoveredFunctionCount; ++f)
    for (uint32_t s = 0; s < abi::kCoverageStreamCount; ++s)
      words.before_attach.calls[f][s].store(detached_counts.calls[f][s].exchange(0, kRelaxed),
                                            kRelaxed);
  unknown_functions.start();
  unknown_functions.write_to(words);
}

void refresh_coverage(Attachment& attachment) {
  unknown_functions.write_to(attachment.segment.coverage);
}

void reset_coverage() {
  for (auto& streams : detached_counts.calls)
    for (auto& calls : streams) calls.store(0, kRelaxed);
  unknown_functions.reset();
}

}  // namespace gacer::interpose
