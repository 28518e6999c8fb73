// SPDX-License-Identifier: Apache-2.0
// The rows of interpose/cuda_hooks.def, for looking at answers.
#pragma once

#include <span>
#include <string_view>

namespace gacer::tools::doctor {

struct HookRow {
  std::string_view symbol;
  std::string_view base;
  int version;                  // first CUDA version in which `base` means `symbol`
  std::string_view stream;      // any, legacy, ptsz, ptds
  std::string_view hook_class;  // gated, accounted, observed
  bool forwarded;               // no hook of its own: the shim only passes it on
};

std::span<const HookRow> hook_rows();
// NULL: none.
const HookRow* row_of_symbol(std::string_view symbol);
// The variant that a program means by (base, version, stream); NULL: none.
const HookRow* row_of_base(std::string_view base, int version, bool per_thread);

}  // namespace gacer::tools::doctor
