// SPDX-License-Identifier: Apache-2.0
// Memsets. A value is one byte.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime_impl.h"

namespace gacer::cudart::impl {

Outcome cudaMemset(const Driver& driver, void* devPtr, int value, size_t count) {
  if (count == 0) return cudaSuccess;
  return driver.cuMemsetD8(device_address(devPtr), static_cast<unsigned char>(value), count);
}
Outcome cudaMemsetAsync(const Driver& driver, void* devPtr, int value, size_t count,
                        cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  return driver.cuMemsetD8Async(device_address(devPtr), static_cast<unsigned char>(value), count,
                                stream);
}
Outcome cudaMemset2D(const Driver& driver, void* devPtr, size_t pitch, int value, size_t width,
                     size_t height) {
  if (width == 0 || height == 0) return cudaSuccess;
  return driver.cuMemsetD2D8(device_address(devPtr), pitch, static_cast<unsigned char>(value),
                             width, height);
}
Outcome cudaMemset2DAsync(const Driver& driver, void* devPtr, size_t pitch, int value, size_t width,
                          size_t height, cudaStream_t stream) {
  if (width == 0 || height == 0) return cudaSuccess;
  return driver.cuMemsetD2D8Async(device_address(devPtr), pitch, static_cast<unsigned char>(value),
                                  width, height, stream);
}

// Slices of a pitched volume lie ysize rows apart.
Outcome cudaMemset3D(const Driver& driver, cudaPitchedPtr pitchedDevPtr, int value,
                     cudaExtent extent) {
  for (size_t z = 0; z < extent.depth; ++z)
    RT_TRY(cudaMemset2D(
        driver,
        static_cast<char*>(pitchedDevPtr.ptr) + z * pitchedDevPtr.ysize * pitchedDevPtr.pitch,
        pitchedDevPtr.pitch, value, extent.width, extent.height));
  return cudaSuccess;
}
Outcome cudaMemset3DAsync(const Driver& driver, cudaPitchedPtr pitchedDevPtr, int value,
                          cudaExtent extent, cudaStream_t stream) {
  for (size_t z = 0; z < extent.depth; ++z)
    RT_TRY(cudaMemset2DAsync(
        driver,
        static_cast<char*>(pitchedDevPtr.ptr) + z * pitchedDevPtr.ysize * pitchedDevPtr.pitch,
        pitchedDevPtr.pitch, value, extent.width, extent.height, stream));
  return cudaSuccess;
}

}  // namespace gacer::cudart::impl
