// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/machine_code.h"

#include <cuda.h>

#include <algorithm>
#include <utility>

#include "runtime/simdevice/image/cubin.h"

namespace gacer::simdevice {
namespace {

constexpr uint32_t kUsualRegs = 32;  // an image that does not say

class NothingToRun final : public GridRun {
 public:
  void work(const std::function<bool()>&) override {}
  const Fault& fault() const override { return fault_; }
  const BlockCounters& counters() const override { return counters_; }
  uint64_t blocks_run() const override { return 0; }

 private:
  Fault fault_;
  BlockCounters counters_;
};

class MachineCode final : public Program {
 public:
  explicit MachineCode(Cubin cubin) {
    for (CubinKernel& kernel : cubin.kernels) add_kernel(kernel);
    for (CubinGlobal& global : cubin.globals) add_global(global);
  }

  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  const std::vector<GlobalInfo>& globals() const override { return globals_; }
  void limit_registers(uint32_t) override {}  // a compiler's option, and it is compiled
  bool is_machine_code() const override { return true; }
  void bind_globals(const std::vector<uint64_t>& addresses) override {
    for (size_t i = 0; i < globals_.size() && i < addresses.size(); ++i)
      globals_[i].address = addresses[i];
  }
  Fault run_block(uint32_t, const LaunchShape&, uint64_t, const uint8_t*, const AddressSpace&,
                  const LaunchClock&, uint64_t, BlockCounters&) const override {
    return {};
  }
  std::unique_ptr<GridRun> start_grid(const GridLaunch&) const override {
    return std::make_unique<NothingToRun>();
  }

 private:
  void add_kernel(CubinKernel& kernel) {
    KernelInfo info;
    info.name = std::move(kernel.name);
    for (const CubinParam& param : kernel.params)
      info.params.push_back({param.offset, param.bytes, 1});
    info.param_bytes = kernel.param_bytes;
    info.regs_per_thread = std::clamp(kernel.regs == 0 ? kUsualRegs : kernel.regs, 16U, 255U);
    info.static_smem_bytes = kernel.static_smem_bytes;
    info.local_bytes = kernel.local_bytes;
    info.max_threads_per_block = kernel.max_threads != 0
                                     ? kernel.max_threads
                                     : std::min(1024U, 65536 / info.regs_per_thread / 32 * 32);
    kernels_.push_back(std::move(info));
  }
  void add_global(CubinGlobal& global) {
    GlobalInfo info;
    info.name = std::move(global.name);
    info.bytes = global.bytes;
    info.align = global.align;
    info.is_const = global.is_const;
    info.is_managed = global.is_managed;
    info.initial = std::move(global.initial);
    info.relocations = std::move(global.relocations);
    globals_.push_back(std::move(info));
  }

  std::vector<KernelInfo> kernels_;
  std::vector<GlobalInfo> globals_;
};

}  // namespace

Result<std::shared_ptr<Program>> machine_code_program(std::span<const uint8_t> image,
                                                      int target_sm) {
  auto cubin = parse_cubin(image);
  if (!cubin) return Error{CUDA_ERROR_INVALID_IMAGE, cubin.error().message};
  if (!code_runs_on(cubin->sm, static_cast<uint32_t>(target_sm)))
    return Error{CUDA_ERROR_NO_BINARY_FOR_GPU, "machine code for sm_" + std::to_string(cubin->sm) +
                                                   ", but the device is sm_" +
                                                   std::to_string(target_sm)};
  return std::shared_ptr<Program>(std::make_shared<MachineCode>(std::move(*cubin)));
}

}  // namespace gacer::simdevice
