// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runtime/simdevice/driver/device.h"

namespace gacer::simdriver {
namespace {

// Texture and surface limits of compute capability 7.0 and later; CUDA Programming Guide, table
// "Technical Specifications per Compute Capability". Texture fetches are not executed, but programs
// ask.
bool texture_limit(int attribute, int& value) {
  switch (attribute) {
#define LIMIT(name, number)        \
  case CU_DEVICE_ATTRIBUTE_##name: \
    value = number;                \
    return true;
    LIMIT(MAXIMUM_TEXTURE1D_WIDTH, 131072)
    LIMIT(MAXIMUM_TEXTURE2D_WIDTH, 131072)
    LIMIT(MAXIMUM_TEXTURE2D_HEIGHT, 65536)
    LIMIT(MAXIMUM_TEXTURE3D_WIDTH, 16384)
    LIMIT(MAXIMUM_TEXTURE3D_HEIGHT, 16384)
    LIMIT(MAXIMUM_TEXTURE3D_DEPTH, 16384)
    LIMIT(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768)
    LIMIT(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768)
    LIMIT(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048)
    LIMIT(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768)
    LIMIT(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048)
    LIMIT(MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768)
    LIMIT(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768)
    LIMIT(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 8192)
    LIMIT(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 8192)
    LIMIT(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 32768)
    LIMIT(MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768)
    LIMIT(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768)
    LIMIT(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046)
    LIMIT(MAXIMUM_SURFACE1D_WIDTH, 32768)
    LIMIT(MAXIMUM_SURFACE2D_WIDTH, 131072)
    LIMIT(MAXIMUM_SURFACE2D_HEIGHT, 65536)
    LIMIT(MAXIMUM_SURFACE3D_WIDTH, 16384)
    LIMIT(MAXIMUM_SURFACE3D_HEIGHT, 16384)
    LIMIT(MAXIMUM_SURFACE3D_DEPTH, 16384)
    LIMIT(MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32768)
    LIMIT(MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2048)
    LIMIT(MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32768)
    LIMIT(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32768)
    LIMIT(MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048)
    LIMIT(MAXIMUM_SURFACECUBEMAP_WIDTH, 32768)
    LIMIT(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32768)
    LIMIT(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046)
    LIMIT(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 268435456)
    LIMIT(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072)
    LIMIT(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000)
    LIMIT(MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120)
    LIMIT(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 32768)
    LIMIT(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 32768)
    LIMIT(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 32768)
    LIMIT(TEXTURE_ALIGNMENT, 512)
    LIMIT(TEXTURE_PITCH_ALIGNMENT, 32)
    LIMIT(SURFACE_ALIGNMENT, 512)
#undef LIMIT
    default:
      return false;
  }
}

// Bus width is not part of DeviceSpec: what follows from a bandwidth and the usual width of the
// memory type.
int bus_width_bits(const DeviceSpec& spec) {
  return spec.dram_bytes_per_ns > 600 ? 5120 : 256;
}
int memory_clock_khz(const DeviceSpec& spec) {
  return static_cast<int>(std::lround(spec.dram_bytes_per_ns * 8e6 / bus_width_bits(spec) / 2));
}

bool spec_attribute(const DeviceSpec& spec, int attribute, int& value) {
  switch (attribute) {
#define SPEC(name, expression)            \
  case CU_DEVICE_ATTRIBUTE_##name:        \
    value = static_cast<int>(expression); \
    return true;
    SPEC(MAX_THREADS_PER_BLOCK, kMaxThreadsPerBlock)
    SPEC(MAX_SHARED_MEMORY_PER_BLOCK, kMaxDefaultSmemBytes)
    SPEC(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, spec.smem_per_block_optin_bytes)
    SPEC(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, spec.smem_per_sm_bytes)
    SPEC(RESERVED_SHARED_MEMORY_PER_BLOCK, spec.smem_reserved_per_block_bytes)
    SPEC(MAX_REGISTERS_PER_BLOCK, spec.regs_per_sm)
    SPEC(MAX_REGISTERS_PER_MULTIPROCESSOR, spec.regs_per_sm)
    SPEC(CLOCK_RATE, spec.clock_mhz * 1000)
    SPEC(MULTIPROCESSOR_COUNT, spec.sm_count)
    SPEC(MAX_THREADS_PER_MULTIPROCESSOR, spec.threads_per_sm)
    SPEC(MAX_BLOCKS_PER_MULTIPROCESSOR, spec.blocks_per_sm)
    SPEC(COMPUTE_CAPABILITY_MAJOR, spec.compute_major)
    SPEC(COMPUTE_CAPABILITY_MINOR, spec.compute_minor)
    SPEC(L2_CACHE_SIZE, spec.l2_bytes)
    SPEC(ASYNC_ENGINE_COUNT, spec.copy_engines)
    SPEC(MEMORY_CLOCK_RATE, memory_clock_khz(spec))
    SPEC(GLOBAL_MEMORY_BUS_WIDTH, bus_width_bits(spec))
    SPEC(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, spec.compute_minor == 0 ? 2 : 64)
    SPEC(INTEGRATED, spec.key == "ORIN")
#undef SPEC
    default:
      return false;
  }
}

bool fixed_attribute(int attribute, int& value) {
  switch (attribute) {
#define FIXED(name, number)        \
  case CU_DEVICE_ATTRIBUTE_##name: \
    value = number;                \
    return true;
    FIXED(MAX_BLOCK_DIM_X, 1024)
    FIXED(MAX_BLOCK_DIM_Y, 1024)
    FIXED(MAX_BLOCK_DIM_Z, 64)
    FIXED(MAX_GRID_DIM_X, 2147483647)
    FIXED(MAX_GRID_DIM_Y, 65535)
    FIXED(MAX_GRID_DIM_Z, 65535)
    FIXED(TOTAL_CONSTANT_MEMORY, 65536)
    FIXED(WARP_SIZE, 32)
    FIXED(MAX_PITCH, 2147483647)
    FIXED(GPU_OVERLAP, 1)
    FIXED(CAN_MAP_HOST_MEMORY, 1)
    FIXED(CONCURRENT_KERNELS, 1)
    FIXED(ECC_ENABLED, 1)
    FIXED(PCI_BUS_ID, kPciBus)
    FIXED(TCC_DRIVER, 0)
    FIXED(UNIFIED_ADDRESSING, 1)
    FIXED(STREAM_PRIORITIES_SUPPORTED, 1)
    FIXED(GLOBAL_L1_CACHE_SUPPORTED, 1)
    FIXED(LOCAL_L1_CACHE_SUPPORTED, 1)
    FIXED(MANAGED_MEMORY, 1)
    FIXED(CONCURRENT_MANAGED_ACCESS, 1)
    FIXED(COMPUTE_PREEMPTION_SUPPORTED, 1)
    FIXED(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1)
    FIXED(CAN_USE_STREAM_MEM_OPS_V1, 1)
    FIXED(CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1)
    FIXED(CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1)
    FIXED(CAN_USE_64_BIT_STREAM_MEM_OPS, 1)
    FIXED(CAN_USE_STREAM_WAIT_VALUE_NOR, 1)
    FIXED(COOPERATIVE_LAUNCH, 1)
    FIXED(HOST_REGISTER_SUPPORTED, 1)
    FIXED(MEMORY_POOLS_SUPPORTED, 1)
    FIXED(MEM_SYNC_DOMAIN_COUNT, 1)
    FIXED(NUMA_ID, -1)
    FIXED(HOST_NUMA_ID, -1)
#undef FIXED
    default:
      return false;
  }
}

}  // namespace

bool device_attribute(const DeviceSpec& spec, bool mps, int attribute, int& value) {
  if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return false;
  if (spec_attribute(spec, attribute, value) || fixed_attribute(attribute, value)) return true;
  if (texture_limit(attribute, value)) return true;
  // The rest names features that the simulated device does not have (VMM, RDMA, multicast, ...).
  value = attribute == CU_DEVICE_ATTRIBUTE_MPS_ENABLED && mps ? 1 : 0;
  return true;
}

}  // namespace gacer::simdriver
