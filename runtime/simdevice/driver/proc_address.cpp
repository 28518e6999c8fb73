// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress, cuGetExportTable
#include "runtime/simdevice/driver/proc_address.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/driver_age.h"
#include "runtime/simdevice/driver/tools_call.h"

// The types do not matter here: only addresses are taken.
#define ROW(name, version, per_thread, symbol) \
  extern "C" int sim_address_of_##symbol() __asm__(#symbol);
#include "sim_proc_rows.inc"
#undef ROW

namespace gacer::simdriver {
namespace {

constexpr cuuint64_t kStreamFlags =
    CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

// Without what SIMGPU_DRIVER_VERSION and SIMGPU_HIDE_SYMBOLS take away.
std::span<const ProcRow> available_rows() {
  static const std::vector<ProcRow>& rows = *new std::vector<ProcRow>([] {
    std::vector<ProcRow> all;
    for (const ProcRow& row : proc_rows())
      if (row.version <= answered_driver_version() && !symbol_is_hidden(row.name, row.symbol))
        all.push_back(row);
    return all;
  }());
  return rows;
}

CUresult look_up(const char* name, void** out, int version, cuuint64_t flags, ProcStatus& status) {
  if (name == nullptr || out == nullptr || version > answered_driver_version())
    return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~kStreamFlags) != 0 || flags == kStreamFlags) return CUDA_ERROR_INVALID_VALUE;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const ProcResult result = find_proc(available_rows(), name, version, per_thread);
  status = result.status;
  *out = result.row == nullptr ? nullptr : result.row->address;
  return CUDA_SUCCESS;
}

CUdriverProcAddressQueryResult to_query_result(ProcStatus status) {
  switch (status) {
    case ProcStatus::kFound:
      return CU_GET_PROC_ADDRESS_SUCCESS;
    case ProcStatus::kVersionTooOld:
      return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    default:
      return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
}

}  // namespace

std::span<const ProcRow> proc_rows() {
  static const std::vector<ProcRow>& rows = *new std::vector<ProcRow>([] {
    std::vector<ProcRow> all = {
#define ROW(name, version, per_thread, symbol) \
  {#name, version, (per_thread) != 0, #symbol, reinterpret_cast<void*>(&sim_address_of_##symbol)},
#include "sim_proc_rows.inc"
#undef ROW
    };
    std::stable_sort(all.begin(), all.end(),
                     [](const ProcRow& a, const ProcRow& b) { return a.name < b.name; });
    return all;
  }());
  return rows;
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

// CUDA 12 and later: success with NULL and a status; without a place for the status the caller is
// told by the result.
CUresult cuGetProcAddress_v2(const char* name, void** out, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* query_result) {
  ProcStatus status = ProcStatus::kNoSuchName;
  SIM_TRY(look_up(name, out, version, flags, status));
  if (query_result != nullptr) {
    *query_result = to_query_result(status);
    return CUDA_SUCCESS;
  }
  return status == ProcStatus::kFound ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* name, void** out, int version, cuuint64_t flags) {
  ProcStatus status = ProcStatus::kNoSuchName;
  SIM_TRY(look_up(name, out, version, flags, status));
  return status == ProcStatus::kFound ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// The tables behind this call are undocumented; they are neither offered nor imitated. One of our
// own (tools_hooks.h) is.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static_assert(sizeof id->bytes == sizeof gacer::simdevice::kToolsHooksId);
  const bool ours = memcmp(id->bytes, gacer::simdevice::kToolsHooksId, sizeof id->bytes) == 0;
  *table = ours ? &tools_hooks : nullptr;
  return ours ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
