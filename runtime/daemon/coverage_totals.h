// SPDX-License-Identifier: Apache-2.0
// Launches and allocations that reached the driver unregulated: read with distrust from one
// process's segment, summed over a tenant's processes. Not thread-safe.
#pragma once

#include <array>
#include <map>
#include <string>

#include "runtime/abi/segment_layout.h"

namespace gacer::daemon {

inline constexpr const char* kCoveredNames[] = {
#define GACER_COVERED(name, kind) #name,
#include "runtime/abi/coverage.def"
};
inline constexpr const char* kCoveredKinds[] = {
#define GACER_COVERED(name, kind) #kind,
#include "runtime/abi/coverage.def"
};
inline constexpr const char* kCoverageStreamTexts[] = {
#define GACER_TEXT(name, text) text,
    GACER_COVERAGE_STREAMS(GACER_TEXT)
#undef GACER_TEXT
};

struct CoverageTotals {
  struct Unknown {
    uint64_t calls = 0;       // through the shim's forwarder
    uint64_t handed_out = 0;  // the program got the driver's own pointer; its calls are not seen
  };
  // More names than these come from a tenant that makes them up: counted in unknown_beyond.
  static constexpr size_t kMaxUnknownNames = 64;

  using Counts =
      std::array<std::array<uint64_t, abi::kCoverageStreamCount>, abi::kCoveredFunctionCount>;
  Counts attached{};
  Counts before_attach{};
  std::map<std::string, Unknown> unknown;
  uint64_t unknown_beyond = 0;

  void add(const CoverageTotals& other);
  uint64_t calls() const;  // of known and unknown functions, before and after attaching
};

// The values of one process as last read; they never go back.
class CoverageReader {
 public:
  // Copies each value once, checks the copy. Returns how many values could not be.
  uint64_t read(const abi::CoverageWords& words);
  CoverageTotals totals() const;

 private:
  struct Row {
    std::string name;  // empty: not in use
    CoverageTotals::Unknown counts;
  };
  uint64_t read_row(Row& row, const abi::UnknownFunction& words);

  CoverageTotals::Counts attached_{};
  CoverageTotals::Counts before_attach_{};
  std::array<Row, abi::kUnknownFunctionRows> rows_;
  uint64_t unknown_beyond_ = 0;
};

}  // namespace gacer::daemon
