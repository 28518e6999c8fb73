// SPDX-License-Identifier: Apache-2.0
// cuDevice*, cuDriverGetVersion
#include "runtime/simdevice/driver/device.h"

#include <cstdio>
#include <cstring>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/driver_age.h"

namespace gacer::simdriver {

CUresult check_device(CUdevice device) {
  SIM_TRY(Driver::get().initialized());
  const bool known = device >= 0 && static_cast<size_t>(device) < Driver::get().devices().size();
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUuuid device_uuid(const DeviceSpec& spec, uint32_t index) {
  const simdevice::UuidBytes bytes = simdevice::device_uuid_bytes(spec, index);
  CUuuid uuid{};
  memcpy(uuid.bytes, bytes.data(), bytes.size());
  return uuid;
}

std::string uuid_text(const CUuuid& uuid) {
  simdevice::UuidBytes bytes;
  memcpy(bytes.data(), uuid.bytes, bytes.size());
  return simdevice::uuid_text(bytes);
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

CUresult cuDriverGetVersion(int* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = answered_driver_version();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  SIM_TRY(Driver::get().initialized());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(check_device(ordinal));
  *out = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* out) {
  SIM_TRY(Driver::get().initialized());
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = static_cast<int>(Driver::get().devices().size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* out, int length, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(out, static_cast<size_t>(length), "%s", Driver::get().spec().name.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* out, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = device_uuid(Driver::get().spec(), Driver::get().index_of(device));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* out, CUdevice device) {
  return cuDeviceGetUuid_v2(out, device);
}

CUresult cuDeviceTotalMem_v2(size_t* out, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = Driver::get().spec().memory_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* out, CUdevice_attribute attribute, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Driver& driver = Driver::get();
  const bool known =
      device_attribute(driver.spec(), driver.index_of(device), driver.mps(), attribute, *out);
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  SIM_TRY(check_device(device));
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = Driver::get().spec().compute_major;
  *minor = Driver::get().spec().compute_minor;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop* out, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto read = [](int attribute) {
    int value = 0;
    device_attribute(Driver::get().spec(), 0, false, attribute, value);
    return value;
  };
  *out = CUdevprop{};
  out->maxThreadsPerBlock = read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  for (int axis = 0; axis < 3; ++axis) {
    out->maxThreadsDim[axis] = read(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + axis);
    out->maxGridSize[axis] = read(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + axis);
  }
  out->sharedMemPerBlock = read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  out->totalConstantMemory = read(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  out->SIMDWidth = read(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  out->memPitch = read(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  out->regsPerBlock = read(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  out->clockRate = read(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  out->textureAlign = read(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* out, int length, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(out, static_cast<size_t>(length), "0000:%02X:00.0",
           kFirstPciBus + Driver::get().index_of(device));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* bus_id) {
  SIM_TRY(Driver::get().initialized());
  if (out == nullptr || bus_id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned domain = 0, bus = 0, slot = 0;
  if (sscanf(bus_id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (sscanf(bus_id, "%x:%x", &bus, &slot) != 2) return CUDA_ERROR_INVALID_VALUE;
  }
  const auto device = Driver::get().ordinal_of(bus - kFirstPciBus);
  if (domain != 0 || slot != 0 || !device) return CUDA_ERROR_INVALID_DEVICE;
  *out = *device;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int* out, CUexecAffinityType type, CUdevice device) {
  SIM_TRY(check_device(device));
  if (out == nullptr || type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX)
    return CUDA_ERROR_INVALID_VALUE;
  *out = type == CU_EXEC_AFFINITY_TYPE_SM_COUNT && Driver::get().mps() ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* out, CUdevice device, CUdevice peer) {
  SIM_TRY(check_device(device));
  SIM_TRY(check_device(peer));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = device != peer ? 1 : 0;  // a device is not its own peer
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* out, CUdevice_P2PAttribute attribute, CUdevice device,
                                 CUdevice peer) {
  SIM_TRY(check_device(device));
  SIM_TRY(check_device(peer));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device == peer) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      *out = 0;  // all links are alike
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *out = 1;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
