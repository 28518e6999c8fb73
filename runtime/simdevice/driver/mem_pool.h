// SPDX-License-Identifier: Apache-2.0
// Memory pools of this process. The server holds blocks and pieces (../server/memory_pool.h); what
// happens here is stream order: a free is told to the server once its stream has got there, and an
// allocation on the same stream may take the memory before that.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/handles.h"
#include "runtime/simdevice/driver/memory.h"

namespace gacer::simdriver {

struct Pool : std::enable_shared_from_this<Pool> {
  uint64_t server_pool = 0;
  CUdevice device = 0;
  CUmemAllocationHandleType handle_types = CU_MEM_HANDLE_TYPE_NONE;
  bool is_default = false;
  bool imported = false;
  std::atomic<cuuint64_t> release_threshold{0};
  // Follow event dependencies, opportunistic, internal dependencies: kept, without effect.
  std::array<std::atomic<int>, 3> reuse{1, 1, 1};
  std::mutex mutex;
  std::map<CUdevice, CUmemAccess_flags> access;  // of other devices; guarded by mutex
};

HandleTable<CUmemoryPool, Pool>& pools();
CUresult find_pool(CUmemoryPool handle, std::shared_ptr<Pool>& out);
CUresult create_pool(CUdevice device, CUmemAllocationHandleType handle_types, uint64_t most_bytes,
                     std::shared_ptr<Pool>& out);

CUresult default_pool(CUdevice device, CUmemoryPool& out);
// What cuDeviceSetMemPool has set, else the default pool.
CUresult current_pool(CUdevice device, CUmemoryPool& out);
void set_current_pool(CUdevice device, CUmemoryPool handle);
void forget_current_pool(CUmemoryPool handle);

// Ordered into `stream`.
CUresult allocate_from(const Pool& pool, const Stream& stream, size_t bytes, uint64_t& address);

// After the host has seen work complete: gives back what was freed, and blocks above the pools'
// thresholds.
CUresult observe_completion();
// Everything that no allocation uses, whatever the thresholds.
CUresult trim_all_pools();

}  // namespace gacer::simdriver
