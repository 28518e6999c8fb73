// SPDX-License-Identifier: Apache-2.0
// cuMemPrefetchAsync, cuMemAdvise: hints about managed memory. It lives in one place that host and
// device share, so there is nothing to move; arguments are checked all the same.
#include <memory>

#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"

using namespace gacer::simdriver;

namespace {

CUresult check_managed(CUdeviceptr address, size_t bytes) {
  const auto allocation = Driver::get().memory.find(address, bytes);
  const bool managed = bytes > 0 && allocation && allocation->kind == MemoryKind::kManaged;
  return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult prefetch(CUstream handle, CUdeviceptr address, size_t bytes, CUdevice device) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (device != CU_DEVICE_CPU) SIM_TRY(check_device(device));
  return check_managed(address, bytes);
}

CUresult prefetch_to(CUstream handle, CUdeviceptr address, size_t bytes, unsigned flags) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : check_managed(address, bytes);
}

}  // namespace

SIM_STREAM_PAIR(cuMemPrefetchAsync, _ptsz,
                (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream), prefetch,
                stream, address, bytes, device)
SIM_STREAM_PAIR(cuMemPrefetchAsync_v2, _ptsz,
                (CUdeviceptr address, size_t bytes, CUmemLocation, unsigned flags, CUstream stream),
                prefetch_to, stream, address, bytes, flags)

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise, CUdevice device) {
  SIM_TRY(Driver::get().ready());
  if (device != CU_DEVICE_CPU) SIM_TRY(check_device(device));
  return check_managed(address, bytes);
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise, CUmemLocation) {
  SIM_TRY(Driver::get().ready());
  return check_managed(address, bytes);
}
