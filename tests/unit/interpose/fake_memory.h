// SPDX-License-Identifier: Apache-2.0
// A driver's device memory for unit tests: several devices, each with a true count of what is in
// use; plain, pooled, virtual, array, graph and imported memory. Everything else is the fake
// driver's. Any of its calls can be made to fail. One lock around all of it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "interpose/cuda_api.h"
#include "interpose/driver_table.h"

namespace gacer::test {

struct FakeMemory {
  struct Device {
    uint64_t total = uint64_t{8} << 30;
    uint64_t used = 0;
    uint64_t graph_reserved = 0;
    uint64_t graph_used = 0;
    bool primary_active = false;
  };
  enum class Kind { kPlain, kManaged, kPooled, kGraph, kExternal, kImported };
  struct Allocation {
    Kind kind;
    uint64_t bytes;
    int device;
    uint64_t pool;
    CUcontext context;
  };
  struct Pool {
    int device = 0;  // -1: host
    uint64_t reserved = 0;
    uint64_t used = 0;
    uint64_t threshold = 0;
    bool destroyed = false;
    bool imported = false;
  };
  struct Block {
    uint64_t bytes = 0;
    int device = 0;  // -1: host
    int handles = 0;
    int mappings = 0;
  };
  struct Array {
    uint64_t bytes = 0;
    int device = 0;
  };

  std::vector<Device> devices{1};
  std::vector<uint8_t> uuid_of;  // first byte of each device's UUID; default: ordinal + 1
  uint64_t pool_step = uint64_t{2} << 20;
  bool knows_array_size = false;  // cuArrayGetMemoryRequirements answers
  bool mps = true;
  uint64_t array_extra_bytes = 0;  // beyond the estimate

  int fail_call = 0;  // the n-th call from now fails, 1 being the next; 0: none
  CUresult failure = CUDA_ERROR_UNKNOWN;
  uint64_t calls = 0;

  std::map<CUdeviceptr, Allocation> allocations;
  std::map<uint64_t, Pool> pools;
  std::map<uint64_t, Block> blocks;  // by identity
  std::map<uint64_t, uint64_t> block_of_handle;
  std::map<CUdeviceptr, std::pair<uint64_t, uint64_t>> mappings;  // address -> bytes, block
  std::map<uint64_t, Array> arrays;
  std::map<uint64_t, CUDA_MEM_ALLOC_NODE_PARAMS> alloc_nodes;
  std::map<uint64_t, std::vector<uint64_t>> graph_nodes;
  std::map<uint64_t, std::pair<uint64_t, int>> execs;  // bytes, device
  std::map<CUcontext, int> contexts;
  std::mutex mutex;
  uint64_t next = 0x7000000000;

  uint64_t used(int device) const { return devices[static_cast<size_t>(device)].used; }
};

FakeMemory& fake_memory();

// A fresh one under a fresh shim, no daemon. The calling thread is in a context of device 0.
void reset_shim_with_memory(int devices = 1);
// Of the calling thread; -1: no context.
void enter_device(int device);
// As the driver's stream synchronisation does: unused pool memory above the threshold goes back.
void shrink_pools();
CUgraph graph_with_allocation(uint64_t bytes, int device = 0);
CUdeviceptr external_mapping();

}  // namespace gacer::test
