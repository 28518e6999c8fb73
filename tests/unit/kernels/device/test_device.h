// SPDX-License-Identifier: Apache-2.0
// What the operator and model tests run on: the PTX executor by itself (unit), or a CUDA driver
// (integration). Each test binary links one definition of device_under_test().
#pragma once

#include <cstddef>
#include <string>

#include "kernels/host/launcher.h"

namespace gacer::kernels {

class TestDevice {
 public:
  virtual ~TestDevice() = default;

  // 256-byte aligned device memory, valid until release_all().
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  // Waits for earlier launches.
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  virtual void release_all() = 0;
  virtual Launcher& launcher() = 0;
  // First failure of any call, or empty.
  virtual std::string error() = 0;
};

TestDevice& device_under_test();

}  // namespace gacer::kernels
