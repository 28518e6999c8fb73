// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/program.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "runtime/ptx/parser.h"
#include "runtime/simdevice/exec/block.h"
#include "runtime/simdevice/exec/lower/lowering.h"
#include "runtime/simdevice/exec/specials.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMaxStaticSharedBytes = 227u << 10;

class CompiledProgram final : public Program {
 public:
  Status build(const ptx::Module& module);

  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  const std::vector<GlobalInfo>& globals() const override { return symbols_.globals; }
  void bind_globals(const std::vector<uint64_t>& addresses) override;
  Fault run_block(uint32_t kernel, const LaunchShape& shape, uint64_t block_linear,
                  const uint8_t* params, const AddressSpace& memory, const LaunchClock& clock,
                  uint64_t budget_warp_instructions, BlockCounters& counters) const override;

 private:
  Status lower(const ptx::Function& source, FunctionCode& code, KernelNeeds& needs);
  Status add_kernel(const ptx::Function& source, const FunctionCode& code,
                    const KernelNeeds& needs);
  const uint8_t* pool() const { return reinterpret_cast<const uint8_t*>(pool_.data()); }

  ModuleSymbols symbols_;
  ProgramCode code_;
  std::vector<LaneScratch> pool_;
  std::vector<KernelInfo> kernels_;
  std::vector<uint32_t> kernel_functions_;  // index into code_.functions
};

uint64_t align_up(uint64_t value, uint64_t align) {
  return (value + align - 1) & ~(align - 1);
}

// The product of .maxntid or .reqntid, 0 if there is none.
uint32_t thread_limit(const ptx::Function& f) {
  const ptx::Directive* d = f.directive("reqntid");
  if (d == nullptr) d = f.directive("maxntid");
  if (d == nullptr) return 0;
  uint64_t product = 1;
  for (const auto& argument : d->arguments) {
    uint32_t value = 0;
    std::from_chars(argument.data(), argument.data() + argument.size(), value);
    product = std::min<uint64_t>(product * value, 1024);
  }
  return static_cast<uint32_t>(product);
}

Status CompiledProgram::add_kernel(const ptx::Function& source, const FunctionCode& code,
                                   const KernelNeeds& needs) {
  KernelInfo info;
  info.name = code.name;
  for (const ParamSlot& slot : code.params) {
    info.params.push_back({slot.offset, slot.bytes, slot.align});
    info.param_bytes = std::max(info.param_bytes, slot.offset + slot.bytes);
  }
  // What the compiler keeps beside the live values: addresses, the stack, the odd spare.
  info.regs_per_thread = std::clamp<uint32_t>(code.live_regs + 6, 16, 255);
  uint64_t shared = needs.shared_bytes;
  if (needs.dynamic_shared) shared = align_up(shared, symbols_.dynamic_align);
  if (shared > kMaxStaticSharedBytes)
    return Error{0, "line " + std::to_string(source.line.number) + ": " + info.name +
                        ": more than 227 KiB of static shared memory"};
  info.static_smem_bytes = static_cast<uint32_t>(shared);
  info.local_bytes = code.local_bytes;
  const uint32_t limit = thread_limit(source);
  info.max_threads_per_block =
      limit != 0 ? limit : std::min<uint32_t>(1024, 65536 / info.regs_per_thread / 32 * 32);
  info.uses_grid_barrier = needs.grid_barrier;
  kernels_.push_back(std::move(info));
  return {};
}

// Module-scope shared variables have fixed places at the start of shared memory, so that functions
// can use them; a kernel that needs none of them does not pay for them.
Status CompiledProgram::lower(const ptx::Function& source, FunctionCode& code, KernelNeeds& needs) {
  needs.shared_bytes = symbols_.shared_bytes;
  Status status = FunctionLowering(symbols_, source, code, needs).run();
  if (!status.ok() || needs.module_shared || symbols_.shared_bytes == 0) return status;
  needs = {};
  code = {};
  return FunctionLowering(symbols_, source, code, needs).run();
}

Status CompiledProgram::build(const ptx::Module& module) {
  if (Status s = collect_symbols(module, symbols_); !s.ok()) return s;
  code_.functions.resize(symbols_.functions.size());
  for (size_t i = 0; i < symbols_.functions.size(); ++i) {
    const ptx::Function& source = *symbols_.functions[i];
    if (!source.has_body) continue;
    FunctionCode& code = code_.functions[i];
    KernelNeeds needs;
    if (Status s = lower(source, code, needs); !s.ok()) return s;
    code.first_counter = code_.counter_count;
    code_.counter_count += static_cast<uint32_t>(code.blocks.size());
    code_.special_used |= needs.special_used;
    if (!source.is_entry) continue;
    if (Status s = add_kernel(source, code, needs); !s.ok()) return s;
    kernel_functions_.push_back(static_cast<uint32_t>(i));
  }
  const auto& words = symbols_.pool.words();
  pool_.resize(words.size() * 8 / sizeof(LaneScratch) + 1);
  if (!words.empty()) std::memcpy(bytes_of(pool_), words.data(), words.size() * 8);
  return {};
}

void CompiledProgram::bind_globals(const std::vector<uint64_t>& addresses) {
  for (size_t i = 0; i < symbols_.globals.size() && i < addresses.size(); ++i)
    symbols_.globals[i].address = addresses[i];
  for (const PoolAddress& at : symbols_.pool.addresses()) {
    const uint64_t value = symbols_.globals[at.global].address + static_cast<uint64_t>(at.addend);
    for (int lane = 0; lane < kLanes; ++lane)
      std::memcpy(bytes_of(pool_) + at.offset + 8 * lane, &value, 8);
  }
}

Fault CompiledProgram::run_block(uint32_t kernel, const LaunchShape& shape, uint64_t block_linear,
                                 const uint8_t* params, const AddressSpace& memory,
                                 const LaunchClock& clock, uint64_t budget,
                                 BlockCounters& counters) const {
  if (kernel >= kernels_.size())
    return {FaultKind::kUnsupported, "no kernel " + std::to_string(kernel)};
  const KernelInfo& info = kernels_[kernel];
  if (shape.threads_per_block() == 0 || shape.threads_per_block() > 1024 ||
      block_linear >= shape.block_count())
    return {FaultKind::kUnsupported,
            "kernel " + info.name + ": a block has 1 to 1024 threads and lies in its grid"};
  // Registers and memory of warps are large; keep them from block to block.
  static thread_local BlockRun run;
  LaunchContext launch;
  launch.code = &code_;
  launch.kernel = &code_.functions[kernel_functions_[kernel]];
  launch.info = &info;
  launch.pool = pool();
  launch.shape = shape;
  launch.params = params;
  launch.memory = &memory;
  launch.clock = clock;
  launch.budget = budget;
  return run.run(launch, block_linear, counters);
}

// 80 of "sm_80", "sm_90a"; 0 if it is none.
int sm_of(const std::vector<std::string>& target) {
  int value = 0;
  for (const auto& word : target)
    if (word.rfind("sm_", 0) == 0)
      std::from_chars(word.data() + 3, word.data() + word.size(), value);
  return value;
}

}  // namespace

Result<std::shared_ptr<Program>> Program::compile(std::string_view text, int target_sm) {
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  auto module = ptx::parse(text);
  if (!module.ok()) return module.error();
  if (module->address_size != 64) return Error{0, "only .address_size 64 is supported"};
  const int sm = sm_of(module->target);
  if (sm == 0) return Error{0, ".target names no sm_NN"};
  if (sm > target_sm)
    return Error{0, ".target sm_" + std::to_string(sm) + " is newer than the device (sm_" +
                        std::to_string(target_sm) + ")"};
  auto program = std::make_shared<CompiledProgram>();
  if (Status s = program->build(*module); !s.ok()) return s.error();
  return std::shared_ptr<Program>(program);
}

}  // namespace gacer::simdevice
