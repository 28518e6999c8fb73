// SPDX-License-Identifier: Apache-2.0
// Questions about devices beside their attributes: atomics between them, textures, identities of
// other systems.
#include <cstring>
#include <memory>
#include <optional>

#include "runtime/simdevice/driver/array.h"
#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"

using namespace gacer::simdriver;

namespace {

// What the interpreter does in memory of another device as in its own.
unsigned peer_capability(CUatomicOperation operation) {
  constexpr unsigned kBoth = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED;
  constexpr unsigned kScalar = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;
  switch (operation) {
    case CU_ATOMIC_OPERATION_INTEGER_INCREMENT:
    case CU_ATOMIC_OPERATION_INTEGER_DECREMENT:
      return CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION |
             CU_ATOMIC_CAPABILITY_SCALAR_32;
    case CU_ATOMIC_OPERATION_EXCHANGE:
    case CU_ATOMIC_OPERATION_CAS:
      return kBoth | kScalar;
    case CU_ATOMIC_OPERATION_FLOAT_ADD:
      return CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_REDUCTION | kScalar;
    case CU_ATOMIC_OPERATION_FLOAT_MIN:
    case CU_ATOMIC_OPERATION_FLOAT_MAX:
      return 0;
    default:
      return kBoth | CU_ATOMIC_CAPABILITY_REDUCTION | kScalar;
  }
}

CUresult capabilities(unsigned* out, const CUatomicOperation* operations, unsigned count,
                      bool native) {
  if (out == nullptr || operations == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i)
    if (operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX)
      return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) out[i] = native ? peer_capability(operations[i]) : 0;
  return CUDA_SUCCESS;
}

}  // namespace

// As over PCIe: no atomics of the link (CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED is 0).
CUresult cuDeviceGetHostAtomicCapabilities(unsigned* out, const CUatomicOperation* operations,
                                           unsigned count, CUdevice device) {
  SIM_TRY(check_device(device));
  return capabilities(out, operations, count, false);
}

CUresult cuDeviceGetP2PAtomicCapabilities(unsigned* out, const CUatomicOperation* operations,
                                          unsigned count, CUdevice from, CUdevice to) {
  SIM_TRY(check_device(from));
  SIM_TRY(check_device(to));
  if (from == to) return CUDA_ERROR_INVALID_DEVICE;
  return capabilities(out, operations, count, true);
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* out, CUarray_format format, unsigned channels,
                                            CUdevice device) {
  SIM_TRY(check_device(device));
  const std::optional<uint64_t> bytes = element_bytes(format, channels);
  if (out == nullptr || !bytes) return CUDA_ERROR_INVALID_VALUE;
  int most = 0;
  SIM_TRY(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, device));
  *out = static_cast<size_t>(most);
  return CUDA_SUCCESS;
}

// LUIDs are of Windows.
CUresult cuDeviceGetLuid(char*, unsigned*, CUdevice device) {
  SIM_TRY(check_device(device));
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceGetNvSciSyncAttributes(void*, CUdevice device, int) {
  SIM_TRY(check_device(device));
  return CUDA_ERROR_NOT_SUPPORTED;
}

// Nothing writes to the device from outside (CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED is 0).
CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  const bool known = target == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX &&
                     (scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER ||
                      scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);
  return known ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}
