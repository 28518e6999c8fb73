// SPDX-License-Identifier: Apache-2.0
// Devices: choice, properties, flags, limits, peers.
#include <algorithm>

#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime/simdevice/cudart/properties.h"
#include "runtime_impl.h"

namespace gacer::cudart::impl {

Outcome cudaGetDeviceCount(const Driver& driver, int* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  *count = 0;
  RT_TRY(ensure_driver());
  RT_TRY(driver.cuDeviceGetCount(count));
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}
Outcome cudaSetDevice(const Driver&, int device) {
  return use_device(device);
}
Outcome cudaGetDevice(const Driver&, int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  *device = current_device();
  return check_device(*device);
}
Outcome cudaInitDevice(const Driver& driver, int device, unsigned deviceFlags, unsigned flags) {
  RT_TRY(check_device(device));
  if ((flags & ~static_cast<unsigned>(cudaInitDeviceFlagsAreValid)) != 0)
    return cudaErrorInvalidValue;
  if ((flags & cudaInitDeviceFlagsAreValid) != 0)
    RT_TRY(driver.cuDevicePrimaryCtxSetFlags(device, deviceFlags & cudaDeviceMask & ~8U));
  CUcontext context = nullptr;
  return primary_context(device, context);
}
Outcome cudaSetValidDevices(const Driver&, int* device_arr, int len) {
  if (len < 0 || (device_arr == nullptr && len > 0)) return cudaErrorInvalidValue;
  for (int i = 0; i < len; ++i) RT_TRY(check_device(device_arr[i]));
  thread_state().valid_devices.assign(device_arr, device_arr + len);
  return cudaSuccess;
}

Outcome cudaDeviceReset(const Driver&) {
  return reset_device();
}
Outcome cudaDeviceSynchronize(const Driver& driver) {
  return driver.cuCtxSynchronize();
}

// Mapping of host memory is implied by the runtime.
Outcome cudaSetDeviceFlags(const Driver& driver, unsigned flags) {
  if ((flags & ~static_cast<unsigned>(cudaDeviceMask)) != 0) return cudaErrorInvalidValue;
  constexpr unsigned kMapHost = cudaDeviceMapHost;
  const int device = current_device();
  RT_TRY(check_device(device));
  return driver.cuDevicePrimaryCtxSetFlags(device, flags & ~kMapHost);
}
Outcome cudaGetDeviceFlags(const Driver& driver, unsigned* flags) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  CUcontext context = nullptr;
  if (driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr) {
    RT_TRY(driver.cuCtxGetFlags(flags));
  } else {
    int active = 0;
    RT_TRY(driver.cuDevicePrimaryCtxGetState(current_device(), flags, &active));
  }
  *flags |= cudaDeviceMapHost;
  return cudaSuccess;
}

Outcome cudaDeviceSetLimit(const Driver& driver, cudaLimit limit, size_t value) {
  return driver.cuCtxSetLimit(static_cast<CUlimit>(limit), value);
}
Outcome cudaDeviceGetLimit(const Driver& driver, size_t* pValue, cudaLimit limit) {
  return driver.cuCtxGetLimit(pValue, static_cast<CUlimit>(limit));
}
Outcome cudaDeviceGetCacheConfig(const Driver& driver, cudaFuncCache* pCacheConfig) {
  return driver.cuCtxGetCacheConfig(same_layout<CUfunc_cache>(pCacheConfig));
}
Outcome cudaDeviceSetCacheConfig(const Driver& driver, cudaFuncCache cacheConfig) {
  return driver.cuCtxSetCacheConfig(static_cast<CUfunc_cache>(cacheConfig));
}
Outcome cudaDeviceGetSharedMemConfig(const Driver& driver, cudaSharedMemConfig* pConfig) {
  return driver.cuCtxGetSharedMemConfig(same_layout<CUsharedconfig>(pConfig));
}
Outcome cudaDeviceSetSharedMemConfig(const Driver& driver, cudaSharedMemConfig config) {
  return driver.cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(config));
}
Outcome cudaDeviceGetStreamPriorityRange(const Driver& driver, int* leastPriority,
                                         int* greatestPriority) {
  return driver.cuCtxGetStreamPriorityRange(leastPriority, greatestPriority);
}

Outcome cudaGetDeviceProperties(const Driver&, cudaDeviceProp* prop, int device) {
  if (prop == nullptr) return cudaErrorInvalidValue;
  RT_TRY(check_device(device));
  *prop = {};
  RT_TRY(fill_identity(device, *prop));
#define ROW(field, attribute)                                   \
  prop->field = static_cast<decltype(+cudaDeviceProp{}.field)>( \
      device_attribute(device, CU_DEVICE_ATTRIBUTE_##attribute));
#include "runtime/simdevice/cudart/device_properties.def"
#undef ROW
  return cudaSuccess;
}
Outcome cudaDeviceGetAttribute(const Driver& driver, int* value, cudaDeviceAttr attr, int device) {
  RT_TRY(check_device(device));
  return driver.cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attr), device);
}
// The device that fits best: the first of those with the wanted compute capability, or the first.
Outcome cudaChooseDevice(const Driver& driver, int* device, const cudaDeviceProp* prop) {
  if (device == nullptr || prop == nullptr) return cudaErrorInvalidValue;
  int count = 0;
  RT_TRY(cudaGetDeviceCount(driver, &count));
  *device = 0;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp candidate;
    RT_TRY(cudaGetDeviceProperties(driver, &candidate, i));
    if (candidate.major < prop->major || candidate.totalGlobalMem < prop->totalGlobalMem) continue;
    *device = i;
    break;
  }
  return cudaSuccess;
}
Outcome cudaDeviceGetByPCIBusId(const Driver& driver, int* device, const char* pciBusId) {
  return driver.cuDeviceGetByPCIBusId(device, pciBusId);
}
Outcome cudaDeviceGetPCIBusId(const Driver& driver, char* pciBusId, int len, int device) {
  return driver.cuDeviceGetPCIBusId(pciBusId, len, device);
}
Outcome cudaDeviceFlushGPUDirectRDMAWrites(const Driver& driver,
                                           cudaFlushGPUDirectRDMAWritesTarget target,
                                           cudaFlushGPUDirectRDMAWritesScope scope) {
  return driver.cuFlushGPUDirectRDMAWrites(static_cast<CUflushGPUDirectRDMAWritesTarget>(target),
                                           static_cast<CUflushGPUDirectRDMAWritesScope>(scope));
}
Outcome cudaDeviceRegisterAsyncNotification(const Driver& driver, int device,
                                            cudaAsyncCallback callbackFunc, void* userData,
                                            cudaAsyncCallbackHandle_t* callback) {
  RT_TRY(check_device(device));
  return driver.cuDeviceRegisterAsyncNotification(
      device, reinterpret_cast<CUasyncCallback>(callbackFunc), userData,
      reinterpret_cast<CUasyncCallbackHandle*>(callback));
}
Outcome cudaDeviceUnregisterAsyncNotification(const Driver& driver, int device,
                                              cudaAsyncCallbackHandle_t callback) {
  RT_TRY(check_device(device));
  return driver.cuDeviceUnregisterAsyncNotification(
      device, reinterpret_cast<CUasyncCallbackHandle>(callback));
}

Outcome cudaDeviceGetHostAtomicCapabilities(const Driver& driver, unsigned* capabilities,
                                            const cudaAtomicOperation* operations, unsigned count,
                                            int device) {
  RT_TRY(check_device(device));
  return driver.cuDeviceGetHostAtomicCapabilities(
      capabilities, same_layout<CUatomicOperation>(operations), count, device);
}
Outcome cudaDeviceGetP2PAtomicCapabilities(const Driver& driver, unsigned* capabilities,
                                           const cudaAtomicOperation* operations, unsigned count,
                                           int srcDevice, int dstDevice) {
  RT_TRY(check_device(srcDevice));
  RT_TRY(check_device(dstDevice));
  return driver.cuDeviceGetP2PAtomicCapabilities(
      capabilities, same_layout<CUatomicOperation>(operations), count, srcDevice, dstDevice);
}
Outcome cudaDeviceGetP2PAttribute(const Driver& driver, int* value, cudaDeviceP2PAttr attr,
                                  int srcDevice, int dstDevice) {
  RT_TRY(check_device(srcDevice));
  RT_TRY(check_device(dstDevice));
  return driver.cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attr), srcDevice,
                                        dstDevice);
}
Outcome cudaDeviceCanAccessPeer(const Driver& driver, int* canAccessPeer, int device,
                                int peerDevice) {
  RT_TRY(check_device(device));
  RT_TRY(check_device(peerDevice));
  return driver.cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice);
}
Outcome cudaDeviceEnablePeerAccess(const Driver& driver, int peerDevice, unsigned flags) {
  CUcontext peer = nullptr;
  RT_TRY(primary_context(peerDevice, peer));
  return driver.cuCtxEnablePeerAccess(peer, flags);
}
Outcome cudaDeviceDisablePeerAccess(const Driver& driver, int peerDevice) {
  CUcontext peer = nullptr;
  RT_TRY(primary_context(peerDevice, peer));
  return driver.cuCtxDisablePeerAccess(peer);
}

}  // namespace gacer::cudart::impl
