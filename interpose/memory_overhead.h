// SPDX-License-Identifier: Apache-2.0
// Device memory that the driver takes for itself when a program makes contexts and loads modules:
// no call allocates it and none tells its size. Measuring it as a change of the device's free
// memory would charge a neighbour's allocations that happen at the same time, so it is estimated:
//
//   context   local memory for as many threads as the device can hold, at the default stack limit
//   of
//             1 KiB (SMs x threads per SM), malloc heap 8 MiB, printf buffer 1 MiB, and 128 MiB for
//             the driver's own code, channels and tables. About 300 MiB on V100, 360 MiB on A100.
//             Nothing where MPS is on (CU_DEVICE_ATTRIBUTE_MPS_ENABLED): its server holds one copy
//             for all clients, which is no tenant's
//   module    the bytes of its image, at most 64 MiB: a fat binary holds several architectures, of
//             which one is loaded, and lazy loading brings in only what runs
//
// Larger stacks or heaps asked for later (cuCtxSetLimit, kernels with much local memory) are not
// seen. The ledger shows the sum by itself and counts it as runtime/daemon/memory_ledger.h says.
// Thread-safe.
#pragma once

#include <cstdint>

#include "interpose/memory_ledger.h"

namespace gacer::interpose {

class MemoryOverhead {
 public:
  explicit constexpr MemoryOverhead(MemoryLedger& ledger) : ledger_(ledger) {}

  void context_created(CUcontext context, CUdevice device);
  void primary_retained(CUcontext context, CUdevice device);
  // With its modules. Returns nothing about memory of the program: see MemoryLedger::context_gone.
  void context_gone(CUcontext context);
  // The handle that the device's primary context had; NULL: never seen. Forgets it.
  CUcontext take_primary(CUdevice device);

  // `handle`: of a module or library, loaded into the current context.
  void module_loaded(uint64_t handle, uint64_t image_bytes);
  void module_unloaded(uint64_t handle);

  void reset();  // in a fork child, before any other thread exists

 private:
  MemoryLedger& ledger_;
  SleepLock lock_;
  MemoryRecords contexts_;
  MemoryRecords modules_;
  CUcontext primaries_[kMaxDevices] = {};
};

}  // namespace gacer::interpose
