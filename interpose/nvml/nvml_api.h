// SPDX-License-Identifier: Apache-2.0
// The few types and numbers of NVML's C interface that the face needs. The CUDA Toolkit does not
// always bring nvml.h; source: NVML API Reference Guide, "Device Queries" (nvmlDeviceGetMemoryInfo,
// nvmlDeviceGetUUID) and "Device Structs" (nvmlMemory_t, nvmlMemory_v2_t).
#pragma once

#include <cstdint>

namespace gacer::interpose::nvml {

using Return = int;  // nvmlReturn_t
inline constexpr Return kSuccess = 0;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kArgumentVersionMismatch = 25;

using Device = struct NvmlDeviceHandle*;  // opaque

struct Memory {  // nvmlMemory_t, bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct MemoryV2 {    // nvmlMemory_v2_t, bytes; total = reserved + free + used
  unsigned version;  // kMemoryV2Version, set by the caller
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};

// NVML_STRUCT_VERSION(Memory, 2)
inline constexpr unsigned kMemoryV2Version = sizeof(MemoryV2) | 2u << 24;

inline constexpr unsigned kUuidBytes = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE

static_assert(sizeof(Memory) == 24 && sizeof(MemoryV2) == 40);

}  // namespace gacer::interpose::nvml
