// SPDX-License-Identifier: Apache-2.0
// What the memory entry points have in common: charge around an allocation, give back after a free.
// A nested call (HookScope) goes to the driver as it is.
#pragma once

#include "interpose/coverage.h"
#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/hook_scope.h"
#include "interpose/shim.h"

namespace gacer::interpose {

inline CUcontext current_context() {
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return context;
}

inline uint64_t key_of(CUdeviceptr pointer) {
  return pointer;
}
template <typename Handle>
uint64_t key_of(Handle* handle) {
  return reinterpret_cast<uint64_t>(handle);
}

// Before a refusal, pools on that device give up what they do not use.
inline bool reserve_or_make_room(uint32_t device, uint64_t bytes) {
  Shim& mine = shim();
  if (mine.memory.reserve(device, bytes)) return true;
  return mine.pools.make_room(device) && mine.memory.reserve(device, bytes);
}

// The driver does not say on which device it would put it (no context, say): whatever its answer,
// the call is not ours to judge.
template <typename Call>
CUresult allocate_uncharged(abi::CoveredFunction function, const Call& call) {
  const CUresult result = call();
  if (result == CUDA_SUCCESS) count_unregulated(function, abi::CoverageStream::kNoStream);
  return result;
}

// Charges `bytes` to the current device around an allocation that puts its address or handle into
// *key; it belongs to the current context.
template <typename Key, typename Call>
CUresult allocate(abi::CoveredFunction function, const Key* key, uint64_t bytes, const Call& call) {
  const HookScope scope;
  if (!scope.outermost() || key == nullptr) return call();
  MemoryLedger& memory = shim().memory;
  const uint32_t device = memory.devices().current();
  if (device == kNoDevice) return allocate_uncharged(function, call);
  if (!reserve_or_make_room(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  if (result == CUDA_SUCCESS)
    memory.keep({key_of(*key), bytes, current_context(), device, 0});
  else
    memory.cancel(device, bytes);
  return result;
}

// The same where the driver decides on the size: `least` is reserved before, what `size_of()` says
// afterwards is charged; `undo()` frees what the driver gave when that is too much.
template <typename Key, typename Call, typename Size, typename Undo>
CUresult allocate_sized(abi::CoveredFunction function, Key* key, uint64_t least, const Call& call,
                        const Size& size_of, const Undo& undo) {
  const HookScope scope;
  if (!scope.outermost() || key == nullptr) return call();
  MemoryLedger& memory = shim().memory;
  const uint32_t device = memory.devices().current();
  if (device == kNoDevice) return allocate_uncharged(function, call);
  if (!reserve_or_make_room(device, least)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  const uint64_t bytes = result == CUDA_SUCCESS ? size_of() : 0;
  if (result == CUDA_SUCCESS && (bytes <= least || reserve_or_make_room(device, bytes - least))) {
    if (bytes < least) memory.cancel(device, least - bytes);
    memory.keep({key_of(*key), bytes, current_context(), device, 0});
    return result;
  }
  if (result == CUDA_SUCCESS) {
    undo();
    *key = Key{};
  }
  memory.cancel(device, least);
  return result == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : result;
}

// `call` frees what `key` stands for; of a pool, of the ledger, or unknown.
template <typename Call>
CUresult deallocate(uint64_t key, const Call& call) {
  const HookScope scope;
  if (!scope.outermost()) return call();
  // Taken before the call: afterwards another thread may have been given the same address.
  MemoryRecord record;
  Shim& mine = shim();
  const bool of_pool = mine.pools.take(key, record);
  const bool known = of_pool || mine.memory.take(key, record);
  const CUresult result = call();
  if (of_pool)
    result == CUDA_SUCCESS ? mine.pools.freed(record) : mine.pools.put_back(record);
  else if (known)
    result == CUDA_SUCCESS ? mine.memory.give_back(record) : mine.memory.put_back(record);
  return result;
}

// `call` launches the graph or gets its memory ready. Nothing is charged for what is captured.
template <typename Call>
CUresult with_graph_memory(CUgraphExec exec, StreamRef stream, const Call& call) {
  MemoryGraphs& graphs = shim().graph_memory;
  MemoryGraphs::Admission admission;
  if (!graphs.any() || shim().captures.is_capturing(stream)) return call();
  if (!graphs.admit(exec, admission)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = call();
  graphs.settle(admission);
  return result;
}

}  // namespace gacer::interpose
