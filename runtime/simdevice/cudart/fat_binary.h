// SPDX-License-Identifier: Apache-2.0
// One registered fat binary and the driver's library made of it. Thread-safe.
#pragma once

#include <cuda.h>

#include <mutex>
#include <string>
#include <vector>

#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

struct ManagedVariable {
  void** host_pointer = nullptr;
  std::string device_name;
  CUdeviceptr address = 0;
  size_t bytes = 0;
};

class FatBinary {
 public:
  // `wrapper`: the structure that nvcc emits (fatbinary_section.h), alive until unloading.
  explicit FatBinary(const void* wrapper) : wrapper_(wrapper) {}

  // The driver's library; loaded when first asked for. A failure is tried again.
  Outcome library(CUlibrary& out);
  void unload();

  void add(ManagedVariable variable);
  Outcome load_managed();
  // The managed variable that lies at `address`, or null.
  const ManagedVariable* managed_at(const void* address);

 private:
  Outcome load();
  Outcome load_linked(const void* const* parts);

  const void* const wrapper_;
  std::mutex mutex_;
  CUlibrary library_ = nullptr;
  std::vector<ManagedVariable> managed_;
};

}  // namespace gacer::cudart
