// SPDX-License-Identifier: Apache-2.0
// One request: input to the device, forward pass, output back, wait. Every request has the same
// input, so every request must give the same bits. Not thread-safe.
#pragma once

#include <cstdint>

#include "kernels/model/device_model.h"

namespace gacer::kernels {

class RequestRunner {
 public:
  // Both must outlive this object.
  RequestRunner(DeviceModel& model, CudaSession& session) : model_(model), session_(session) {}

  // Takes pinned buffers and writes the seeded input. False on failure, as below.
  bool prepare(unsigned seed);
  bool run();

  // FNV-1a of the last output's bytes.
  std::uint64_t output_checksum() const;

 private:
  DeviceModel& model_;
  CudaSession& session_;
  void* input_ = nullptr;
  void* output_ = nullptr;
};

}  // namespace gacer::kernels
