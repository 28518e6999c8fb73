// SPDX-License-Identifier: Apache-2.0
// The device under test is whatever libcuda.so.1 the program finds.
#include <memory>
#include <vector>

#include "kernels/host/cuda_session.h"
#include "kernels/host/driver_launcher.h"
#include "tests/unit/kernels/device/test_device.h"

namespace gacer::kernels {
namespace {

CUdeviceptr address_of(const void* device) {
  return reinterpret_cast<CUdeviceptr>(device);
}

class DriverDevice final : public TestDevice {
 public:
  DriverDevice() {
    if (session_.open(0, StreamPriority::kDefault))
      launcher_ = std::make_unique<DriverLauncher>(session_.stream(), session_.status());
  }

  void* allocate(std::size_t bytes) override {
    CUdeviceptr address = 0;
    if (!status().check(cuMemAlloc(&address, bytes), "cuMemAlloc", "test array")) return nullptr;
    allocations_.push_back(address);
    return as_floats(address);
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    if (!status().ok()) return;
    status().check(cuMemcpyHtoDAsync(address_of(to), from, bytes, session_.stream()),
                   "cuMemcpyHtoDAsync", "test array");
    status().check(cuStreamSynchronize(session_.stream()), "cuStreamSynchronize");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    if (!status().ok()) return;
    status().check(cuMemcpyDtoHAsync(to, address_of(from), bytes, session_.stream()),
                   "cuMemcpyDtoHAsync", "test array");
    status().check(cuStreamSynchronize(session_.stream()), "cuStreamSynchronize");
  }
  void release_all() override {
    for (CUdeviceptr address : allocations_) cuMemFree(address);
    allocations_.clear();
  }
  Launcher& launcher() override { return launcher_ != nullptr ? *launcher_ : nowhere_; }
  std::string error() override { return session_.status().message(); }

 private:
  // Where there is no device, error() says so; launches have nowhere to go.
  struct Nowhere final : Launcher {
    void launch(KernelId, GridSize, unsigned, void**) override {}
  };

  CudaStatus& status() { return session_.status(); }

  CudaSession session_;
  std::unique_ptr<Launcher> launcher_;
  Nowhere nowhere_;
  std::vector<CUdeviceptr> allocations_;
};

}  // namespace

TestDevice& device_under_test() {
  // Never destroyed: at exit the driver may be gone before this object.
  static DriverDevice* const device = new DriverDevice;
  return *device;
}

}  // namespace gacer::kernels
