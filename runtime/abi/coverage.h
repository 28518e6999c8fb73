// SPDX-License-Identifier: Apache-2.0
// Names for the counters of launches and allocations that reached the driver unregulated.
#pragma once

#include <cstdint>

namespace gacer::abi {

enum class CoveredFunction : uint32_t {
#define GACER_COVERED(name, kind) k_##name,
#include "runtime/abi/coverage.def"
  kCount
};

// The stream such a call was made on, or would have been.
#define GACER_COVERAGE_STREAMS(X)                         \
  X(kNoStream, "none")        /* no stream argument */    \
  X(kLegacy, "legacy")        /* legacy default stream */ \
  X(kPerThread, "per-thread") /* per-thread default */    \
  X(kCreated, "created")      /* any other stream */      \
  X(kCapturing, "capturing")  /* recorded into a graph */

enum class CoverageStream : uint32_t {
#define GACER_ENUM(name, text) name,
  GACER_COVERAGE_STREAMS(GACER_ENUM)
#undef GACER_ENUM
      kCount
};

inline constexpr uint32_t kCoveredFunctionCount = static_cast<uint32_t>(CoveredFunction::kCount);
inline constexpr uint32_t kCoverageStreamCount = static_cast<uint32_t>(CoverageStream::kCount);
inline constexpr uint32_t kUnknownFunctionRows = 16;
inline constexpr uint32_t kUnknownNameBytes = 48;

}  // namespace gacer::abi
