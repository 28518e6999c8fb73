// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/coverage_totals.h"

#include <algorithm>
#include <optional>

namespace gacer::daemon {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A tenant may write at the same time: byte-wise, each byte once.
std::optional<std::string> name_of(const abi::UnknownFunction& words) {
  std::string name;
  for (const char& source : words.name) {
    const char c = __atomic_load_n(&source, __ATOMIC_RELAXED);
    if (c == '\0') break;
    if (!is_name_character(c)) return std::nullopt;
    name += c;
  }
  const bool fits = name.size() > 2 && name.size() < abi::kUnknownNameBytes;
  if (!fits || name.compare(0, 2, "cu") != 0) return std::nullopt;
  return name;
}

template <typename Word>
uint64_t raise(uint64_t& last, const std::atomic<Word>& word) {
  const uint64_t value = word.load(kRelaxed);
  if (value < last) return 1;
  last = value;
  return 0;
}

uint64_t raise_all(CoverageTotals::Counts& last, const abi::CoverageCounts& words) {
  uint64_t forged = 0;
  for (size_t f = 0; f < last.size(); ++f)
    for (size_t s = 0; s < last[f].size(); ++s) forged += raise(last[f][s], words.calls[f][s]);
  return forged;
}

void add_counts(CoverageTotals::Counts& sum, const CoverageTotals::Counts& other) {
  for (size_t f = 0; f < sum.size(); ++f)
    for (size_t s = 0; s < sum[f].size(); ++s) sum[f][s] += other[f][s];
}

uint64_t sum_of(const CoverageTotals::Counts& counts) {
  uint64_t sum = 0;
  for (const auto& streams : counts)
    for (const uint64_t calls : streams) sum += calls;
  return sum;
}

}  // namespace

void CoverageTotals::add(const CoverageTotals& other) {
  add_counts(attached, other.attached);
  add_counts(before_attach, other.before_attach);
  unknown_beyond += other.unknown_beyond;
  for (const auto& [name, counts] : other.unknown) {
    if (unknown.count(name) == 0 && unknown.size() >= kMaxUnknownNames) {
      unknown_beyond += counts.calls + counts.handed_out;
      continue;
    }
    Unknown& mine = unknown[name];
    mine.calls += counts.calls;
    mine.handed_out += counts.handed_out;
  }
}

uint64_t CoverageTotals::calls() const {
  uint64_t sum = sum_of(attached) + sum_of(before_attach) + unknown_beyond;
  for (const auto& [name, counts] : unknown) sum += counts.calls;
  return sum;
}

uint64_t CoverageReader::read(const abi::CoverageWords& words) {
  uint64_t forged = raise_all(attached_, words.attached);
  forged += raise_all(before_attach_, words.before_attach);
  forged += raise(unknown_beyond_, words.unknown_beyond);
  for (size_t i = 0; i < rows_.size(); ++i) forged += read_row(rows_[i], words.unknown[i]);
  return forged;
}

uint64_t CoverageReader::read_row(Row& row, const abi::UnknownFunction& words) {
  if (words.named.load(std::memory_order_acquire) == 0) return 0;  // pairs with the shim's release
  if (row.name.empty()) {
    auto name = name_of(words);
    if (!name) return 1;
    row.name = *std::move(name);
  }
  return raise(row.counts.calls, words.calls) + raise(row.counts.handed_out, words.handed_out);
}

CoverageTotals CoverageReader::totals() const {
  CoverageTotals totals;
  totals.attached = attached_;
  totals.before_attach = before_attach_;
  totals.unknown_beyond = unknown_beyond_;
  for (const Row& row : rows_) {
    if (row.name.empty()) continue;
    totals.unknown[row.name].calls += row.counts.calls;
    totals.unknown[row.name].handed_out += row.counts.handed_out;
  }
  return totals;
}

}  // namespace gacer::daemon
