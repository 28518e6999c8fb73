// SPDX-License-Identifier: Apache-2.0
// Where DeviceOps hands its launches to.
#pragma once

#include "kernels/catalog.h"

namespace gacer::kernels {

struct GridSize {
  unsigned x = 1, y = 1, z = 1;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // One-dimensional blocks of the catalog's size. `arguments` points to one value per kernel
  // parameter and need only live during the call. Failures are kept by the implementation.
  virtual void launch(KernelId kernel, GridSize grid, unsigned shared_bytes, void** arguments) = 0;
};

}  // namespace gacer::kernels
