// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/cuda_session.h"

namespace gacer::kernels {

CudaSession::~CudaSession() {
  if (stream_ != nullptr) cuStreamDestroy(stream_);
  for (CUdeviceptr address : allocations_) cuMemFree(address);
  for (void* memory : pinned_) cuMemFreeHost(memory);
  if (context_ != nullptr) cuDevicePrimaryCtxRelease(device_);
}

bool CudaSession::open(int ordinal, StreamPriority priority) {
  return status_.check(cuInit(0), "cuInit") && open_device(ordinal) && open_stream(priority);
}

bool CudaSession::open_device(int ordinal) {
  char name[256] = {};
  if (!status_.check(cuDeviceGet(&device_, ordinal), "cuDeviceGet",
                     std::to_string(ordinal).c_str()) ||
      !status_.check(cuDeviceGetName(name, sizeof(name), device_), "cuDeviceGetName") ||
      !status_.check(cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain"))
    return false;
  device_name_ = name;
  return status_.check(cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

bool CudaSession::open_stream(StreamPriority priority) {
  int least = 0, greatest = 0;
  if (!status_.check(cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange"))
    return false;
  int value = 0;
  if (priority == StreamPriority::kHigh) value = greatest;
  if (priority == StreamPriority::kLow) value = least;
  return status_.check(cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, value),
                       "cuStreamCreateWithPriority");
}

CUdeviceptr CudaSession::allocate(std::size_t bytes, const char* what) {
  CUdeviceptr address = 0;
  const std::string detail = std::string(what) + ", " + std::to_string(bytes) + " bytes";
  if (!status_.check(cuMemAlloc(&address, bytes), "cuMemAlloc", detail.c_str())) return 0;
  allocations_.push_back(address);
  return address;
}

void* CudaSession::allocate_pinned(std::size_t bytes, const char* what) {
  void* memory = nullptr;
  const std::string detail = std::string(what) + ", " + std::to_string(bytes) + " bytes";
  if (!status_.check(cuMemAllocHost(&memory, bytes), "cuMemAllocHost", detail.c_str()))
    return nullptr;
  pinned_.push_back(memory);
  return memory;
}

}  // namespace gacer::kernels
