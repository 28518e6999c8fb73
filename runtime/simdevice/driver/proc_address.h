// SPDX-License-Identifier: Apache-2.0
// The table behind cuGetProcAddress: base name, CUDA version that brought this form, per-thread
// form or not.
#pragma once

#include <span>
#include <string_view>

namespace gacer::simdriver {

struct ProcRow {
  std::string_view name;  // without _v2, _ptsz, ...
  int version;
  bool per_thread;
  const char* symbol;
  void* address;
};

enum class ProcStatus { kFound, kNoSuchName, kVersionTooOld };

struct ProcResult {
  ProcStatus status = ProcStatus::kNoSuchName;
  const ProcRow* row = nullptr;  // set when kFound
};

// The newest form of `name` that CUDA `version` had. With `per_thread` the per-thread form where
// there is one.
ProcResult find_proc(std::span<const ProcRow> rows, std::string_view name, int version,
                     bool per_thread);

// All functions of this library, sorted by name.
std::span<const ProcRow> proc_rows();

}  // namespace gacer::simdriver
