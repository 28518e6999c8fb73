// SPDX-License-Identifier: Apache-2.0
// Entry points: memory that another process or API owns. Its owner is charged for it; importers are
// charged nothing, however often they open it, so each byte counts once. Counted by name, so that
// an operator sees that a tenant uses memory which is not in its account.
#include "interpose/memory_entry.h"

namespace gacer::interpose {
namespace {

template <typename Call>
CUresult import(abi::CoveredFunction function, const Call& call) {
  const HookScope scope;
  if (!scope.outermost()) return call();
  return allocate_uncharged(function, call);
}

}  // namespace
}  // namespace gacer::interpose

using namespace gacer::interpose;  // NOLINT: entry points are global by nature
using gacer::abi::CoveredFunction;

extern "C" {

CUresult gacer_hook_cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle,
                                       unsigned flags) {
  return import(CoveredFunction::k_cuIpcOpenMemHandle,
                [&] { return driver().cuIpcOpenMemHandle(pointer, handle, flags); });
}
CUresult gacer_hook_cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle,
                                          unsigned flags) {
  return import(CoveredFunction::k_cuIpcOpenMemHandle,
                [&] { return driver().cuIpcOpenMemHandle_v2(pointer, handle, flags); });
}

CUresult gacer_hook_cuImportExternalMemory(CUexternalMemory* memory,
                                           const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description) {
  return import(CoveredFunction::k_cuImportExternalMemory,
                [&] { return driver().cuImportExternalMemory(memory, description); });
}

}  // extern "C"
