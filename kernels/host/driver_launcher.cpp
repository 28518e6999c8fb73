// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/driver_launcher.h"

#include "kernels/host/ptx_modules.h"

namespace gacer::kernels {

DriverLauncher::~DriverLauncher() {
  for (const auto& [name, loaded] : modules_) cuModuleUnload(loaded);
}

void DriverLauncher::launch(KernelId kernel, GridSize grid, unsigned shared_bytes,
                            void** arguments) {
  if (!status_.ok()) return;
  const CUfunction target = function(kernel);
  if (target == nullptr) return;
  const KernelRow& row = kernel_row(kernel);
  status_.check(cuLaunchKernel(target, grid.x, grid.y, grid.z, row.block_threads, 1, 1,
                               shared_bytes, stream_, arguments, nullptr),
                "cuLaunchKernel", row.symbol);
}

CUfunction DriverLauncher::function(KernelId kernel) {
  CUfunction& slot = functions_[static_cast<std::size_t>(kernel)];
  if (slot != nullptr) return slot;
  const KernelRow& row = kernel_row(kernel);
  const CUmodule owner = module(row.module);
  if (owner == nullptr) return nullptr;
  status_.check(cuModuleGetFunction(&slot, owner, row.symbol), "cuModuleGetFunction", row.symbol);
  return slot;
}

CUmodule DriverLauncher::module(const char* name) {
  const auto known = modules_.find(name);
  if (known != modules_.end()) return known->second;
  CUmodule loaded = nullptr;
  if (!status_.check(cuModuleLoadData(&loaded, ptx_module(name).data()), "cuModuleLoadData", name))
    return nullptr;
  modules_.emplace(name, loaded);
  return loaded;
}

}  // namespace gacer::kernels
