// SPDX-License-Identifier: Apache-2.0
// The device under test is the PTX executor alone: no driver, no server, no time.
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "kernels/host/ptx_modules.h"
#include "runtime/simdevice/exec/program.h"
#include "tests/unit/kernels/device/test_device.h"

namespace gacer::kernels {
namespace {

using simdevice::AddressSpace;
using simdevice::BlockCounters;
using simdevice::Fault;
using simdevice::FaultKind;
using simdevice::KernelInfo;
using simdevice::LaunchShape;
using simdevice::Program;

constexpr std::uint64_t kBase = 0x7000'0000'0000ULL;
constexpr std::size_t kCapacity = std::size_t{1} << 32;  // reserved, touched as used
constexpr std::size_t kAlignment = 256;
constexpr int kTargetSm = 80;

class ExecDevice final : public TestDevice, public Launcher {
 public:
  ExecDevice() {
    void* memory = mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      keep_error("mmap failed");
    else
      host_ = static_cast<std::uint8_t*>(memory);
  }

  void* allocate(std::size_t bytes) override {
    const std::uint64_t address = kBase + used_;
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (used_ > kCapacity) keep_error("out of test memory");
    return reinterpret_cast<void*>(address);
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(host_address(to), from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, host_address(from), bytes);
  }
  void release_all() override { used_ = 0; }
  Launcher& launcher() override { return *this; }
  std::string error() override { return error_; }

  void launch(KernelId kernel, GridSize grid, unsigned shared_bytes, void** arguments) override {
    const KernelRow& row = kernel_row(kernel);
    const Program* program = module(row.module);
    if (program == nullptr) return;
    LaunchShape shape;
    shape.grid = {grid.x, grid.y, grid.z};
    shape.block = {row.block_threads, 1, 1};
    shape.dynamic_smem_bytes = shared_bytes;
    const std::uint32_t index = index_of(*program, row.symbol);
    if (index == program->kernels().size()) return keep_error(std::string(row.symbol) + " missing");
    run(*program, index, shape, packed(program->kernels()[index], arguments));
  }

 private:
  std::uint8_t* host_address(const void* device) const {
    return host_ + (reinterpret_cast<std::uint64_t>(device) - kBase);
  }
  void keep_error(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  const Program* module(const char* name) {
    std::shared_ptr<Program>& slot = programs_[name];
    if (slot != nullptr) return slot.get();
    auto compiled = Program::compile(ptx_module(name), kTargetSm);
    if (compiled.ok())
      slot = compiled.value();
    else
      keep_error(std::string(name) + ": " + compiled.error().message);
    return slot.get();
  }

  static std::uint32_t index_of(const Program& program, const char* symbol) {
    std::uint32_t index = 0;
    while (index < program.kernels().size() && program.kernels()[index].name != symbol) ++index;
    return index;
  }

  static std::vector<std::uint8_t> packed(const KernelInfo& kernel, void** arguments) {
    std::vector<std::uint8_t> buffer(kernel.param_bytes);
    for (std::size_t i = 0; i < kernel.params.size(); ++i)
      std::memcpy(buffer.data() + kernel.params[i].offset, arguments[i], kernel.params[i].bytes);
    return buffer;
  }

  void run(const Program& program, std::uint32_t kernel, const LaunchShape& shape,
           const std::vector<std::uint8_t>& params) {
    const AddressSpace memory({{kBase, used_, host_}});
    BlockCounters counters;
    for (std::uint64_t block = 0; block < shape.block_count(); ++block) {
      const Fault fault =
          program.run_block(kernel, shape, block, params.data(), memory, {}, 0, counters);
      if (fault.kind != FaultKind::kNone) return keep_error(fault.message);
    }
  }

  std::uint8_t* host_ = nullptr;
  std::size_t used_ = 0;
  std::map<std::string, std::shared_ptr<Program>> programs_;
  std::string error_;
};

}  // namespace

TestDevice& device_under_test() {
  static ExecDevice device;
  return device;
}

}  // namespace gacer::kernels
