// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/hook_rows.h"

namespace gacer::tools::doctor {
namespace {

constexpr HookRow kRows[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  {#symbol, #base, version, #stream, #hook_class, false},
#define GACER_FORWARD(symbol, base, version, stream, hook_class) \
  {#symbol, #base, version, #stream, #hook_class, true},
#include "hook_rows.inc"
#undef GACER_HOOK
#undef GACER_FORWARD
};

bool stream_fits(std::string_view stream, bool per_thread) {
  return stream == "any" || per_thread == (stream != "legacy");
}

}  // namespace

std::span<const HookRow> hook_rows() {
  return kRows;
}

const HookRow* row_of_symbol(std::string_view symbol) {
  for (const HookRow& row : kRows)
    if (row.symbol == symbol) return &row;
  return nullptr;
}

const HookRow* row_of_base(std::string_view base, int version, bool per_thread) {
  const HookRow* newest = nullptr;
  for (const HookRow& row : kRows) {
    if (row.base != base || row.version > version || !stream_fits(row.stream, per_thread)) continue;
    if (newest == nullptr || row.version > newest->version) newest = &row;
  }
  return newest;
}

}  // namespace gacer::tools::doctor
