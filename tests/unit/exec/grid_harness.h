// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks run beside each other, on Device of harness.h; PTX of
// tests/unit/exec/kernels.
#pragma once

#include "runtime/simdevice/exec/device_heap.h"
#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {

struct GridOptions {
  uint64_t resident_blocks = 64;
  bool cooperative = false;
  unsigned threads = 1;
  uint64_t budget = 0;
  DeviceHeap* heap = nullptr;
  std::function<void(std::string_view)> print = {};
  LaunchClock clock = {};
};

class GridDevice : public Device {
 public:
  Fault launch_grid(Program& program, const std::string& kernel, LaunchShape launch_shape,
                    const Params& params, const GridOptions& options);
};

// Text of kernels/`name`.cu compiled for `arch` ("80").
std::string kernel_text(const std::string& name, const std::string& arch);

}  // namespace gacer::simdevice::test
