// SPDX-License-Identifier: Apache-2.0
// A program that allocates under the shim, attached to a pretended daemon without a socket: its
// limit holds, requests get no answer. The driver counts what is really in use.
#pragma once

#include <gtest/gtest.h>

#include "interpose/hook_declarations.h"
#include "interpose/shim.h"
#include "tests/unit/interpose/fake_driver.h"
#include "tests/unit/interpose/fake_memory.h"

namespace gacer::test {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

class MemoryFixture : public testing::Test {
 protected:
  explicit MemoryFixture(int devices = 1) {
    reset_shim_with_memory(devices);
    attachment_ = &attach_fake();
  }
  ~MemoryFixture() override { enter_device(0); }

  void limit(uint64_t bytes) { attachment_->segment.gate.memory_limit_bytes = bytes; }
  uint64_t charged(uint32_t device = 0) { return interpose::shim().memory.used_bytes(device); }
  uint64_t in_use(int device = 0) { return fake_memory().used(device); }
  // What the driver has given out is what is charged.
  void expect_exact(int device = 0) {
    EXPECT_EQ(charged(static_cast<uint32_t>(device)), in_use(device));
  }
  CUresult alloc(CUdeviceptr& pointer, uint64_t bytes) {
    return gacer_hook_cuMemAlloc_v2(&pointer, bytes);
  }
  CUresult alloc_async(CUdeviceptr& pointer, uint64_t bytes) {
    return gacer_hook_cuMemAllocAsync(&pointer, bytes, stream_number(1));
  }
  CUresult free_async(CUdeviceptr pointer) {
    return gacer_hook_cuMemFreeAsync(pointer, stream_number(1));
  }
  static CUmemAllocationProp location(int type, int id) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = static_cast<CUmemLocationType>(type);
    properties.location.id = id;
    return properties;
  }
  CUresult create(CUmemGenericAllocationHandle& handle, uint64_t bytes, int device = 0) {
    const CUmemAllocationProp properties = location(CU_MEM_LOCATION_TYPE_DEVICE, device);
    return gacer_hook_cuMemCreate(&handle, bytes, &properties, 0);
  }

  interpose::Attachment* attachment_;
};

}  // namespace gacer::test
