// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/program.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "runtime/ptx/parser.h"
#include "runtime/simdevice/exec/device_runtime.h"
#include "runtime/simdevice/exec/grid.h"
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
  void limit_registers(uint32_t most) override {
    for (KernelInfo& kernel : kernels_)
      kernel.regs_per_thread = std::min(kernel.regs_per_thread, std::max(most, 16U));
  }
  Fault run_block(uint32_t kernel, const LaunchShape& shape, uint64_t block_linear,
                  const uint8_t* params, const AddressSpace& memory, const LaunchClock& clock,
                  uint64_t budget_warp_instructions, BlockCounters& counters) const override;
  std::unique_ptr<GridRun> start_grid(const GridLaunch& launch) const override;

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

uint32_t directive_value(const ptx::Function& f, std::string_view name) {
  const ptx::Directive* d = f.directive(name);
  uint32_t value = 0;
  if (d != nullptr && !d->arguments.empty())
    std::from_chars(d->arguments[0].data(), d->arguments[0].data() + d->arguments[0].size(), value);
  return value;
}

// What .maxnreg, and .minnctapersm blocks of `threads` threads on one SM, leave a thread; registers
// come in steps of 8.
uint32_t register_limit(const ptx::Function& f, uint32_t threads) {
  uint64_t limit = 255;
  if (const uint32_t most = directive_value(f, "maxnreg"); most != 0)
    limit = std::min<uint64_t>(limit, most);
  const uint64_t blocks = std::max(1U, directive_value(f, "minnctapersm"));
  if (threads != 0) limit = std::min(limit, 65536 / (blocks * threads) / 8 * 8);
  return static_cast<uint32_t>(std::max<uint64_t>(limit, 16));
}

// .reqnctapercluster; 0 where there is none.
std::array<uint32_t, 3> cluster_of(const ptx::Function& f) {
  std::array<uint32_t, 3> out{0, 0, 0};
  const ptx::Directive* d = f.directive("reqnctapercluster");
  if (d == nullptr || d->arguments.empty()) return out;
  out = {1, 1, 1};
  for (size_t i = 0; i < d->arguments.size() && i < 3; ++i)
    std::from_chars(d->arguments[i].data(), d->arguments[i].data() + d->arguments[i].size(),
                    out[i]);
  return out;
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
  const uint32_t limit = thread_limit(source);
  info.regs_per_thread =
      std::clamp<uint32_t>(code.live_regs + 6, 16, register_limit(source, limit));
  uint64_t shared = needs.shared_bytes;
  if (needs.dynamic_shared) shared = align_up(shared, symbols_.dynamic_align);
  if (shared > kMaxStaticSharedBytes)
    return Error{0, "line " + std::to_string(source.line.number) + ": " + info.name +
                        ": more than 227 KiB of static shared memory"};
  info.static_smem_bytes = static_cast<uint32_t>(shared);
  info.local_bytes = code.local_bytes;
  info.max_threads_per_block =
      limit != 0 ? limit : std::min<uint32_t>(1024, 65536 / info.regs_per_thread / 32 * 32);
  info.uses_grid_barrier = needs.grid_barrier;
  info.uses_heap = needs.heap;
  info.prints = needs.prints;
  info.cluster = cluster_of(source);
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
  KernelNeeds called;  // what functions need, and so maybe the kernels that call some
  std::vector<bool> kernel_calls;
  for (size_t i = 0; i < symbols_.functions.size(); ++i) {
    const ptx::Function& source = *symbols_.functions[i];
    if (!source.has_body) continue;
    FunctionCode& code = code_.functions[i];
    KernelNeeds needs;
    if (Status s = lower(source, code, needs); !s.ok()) return s;
    code.first_counter = code_.counter_count;
    code_.counter_count += static_cast<uint32_t>(code.blocks.size());
    code_.special_used |= needs.special_used;
    if (!source.is_entry) {
      called.heap |= needs.heap;
      called.prints |= needs.prints;
      called.grid_barrier |= needs.grid_barrier;
      continue;
    }
    if (Status s = add_kernel(source, code, needs); !s.ok()) return s;
    kernel_functions_.push_back(static_cast<uint32_t>(i));
    kernel_calls.push_back(needs.calls);
  }
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (!kernel_calls[k]) continue;
    kernels_[k].uses_heap |= called.heap;
    kernels_[k].prints |= called.prints;
    kernels_[k].uses_grid_barrier |= called.grid_barrier;
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

// Empty: nothing is wrong with it.
std::string why_not_launch(const std::vector<KernelInfo>& kernels, const GridLaunch& launch) {
  if (launch.kernel >= kernels.size()) return "no kernel " + std::to_string(launch.kernel);
  const std::string kernel = "kernel " + kernels[launch.kernel].name;
  const LaunchShape& shape = launch.shape;
  const uint64_t threads = uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (shape.block[0] == 0 || shape.block[1] == 0 || shape.block[2] == 0 ||
      std::max({shape.block[0], shape.block[1], shape.block[2]}) > 1024 || threads > 1024)
    return kernel + ": a block has 1 to 1024 threads";
  for (uint64_t block : launch.sample)
    if (block >= shape.block_count()) return kernel + ": a block that lies outside of its grid";
  for (size_t i = 0; i < 3; ++i)
    if (shape.cluster[i] == 0 || shape.cluster[i] > kMostClusterBlocks ||
        shape.grid[i] % shape.cluster[i] != 0)
      return kernel + ": clusters that do not divide the grid";
  if (shape.blocks_per_cluster() > kMostClusterBlocks)
    return kernel + ": more than " + std::to_string(kMostClusterBlocks) + " blocks in a cluster";
  return {};
}

// A launch that cannot be run.
class RefusedGrid final : public GridRun {
 public:
  explicit RefusedGrid(std::string why) : fault_{FaultKind::kUnsupported, std::move(why)} {}
  void work(const std::function<bool()>&) override {}
  const Fault& fault() const override { return fault_; }
  const BlockCounters& counters() const override { return counters_; }
  uint64_t blocks_run() const override { return 0; }

 private:
  Fault fault_;
  BlockCounters counters_;
};

std::unique_ptr<GridRun> CompiledProgram::start_grid(const GridLaunch& launch) const {
  if (std::string why = why_not_launch(kernels_, launch); !why.empty())
    return std::make_unique<RefusedGrid>(std::move(why));
  LaunchContext context;
  context.code = &code_;
  context.kernel = &code_.functions[kernel_functions_[launch.kernel]];
  context.info = &kernels_[launch.kernel];
  context.pool = pool();
  context.shape = launch.shape;
  context.params = launch.params;
  context.memory = launch.memory;
  context.textures = launch.textures;
  context.clock = launch.clock;
  context.budget = launch.budget_warp_instructions;
  context.sm_count = std::max(1u, launch.sm_count);
  context.grid_id = launch.grid_id;
  context.heap = launch.heap;
  context.print = launch.print;
  return std::make_unique<GridScheduler>(context, launch);
}

Fault CompiledProgram::run_block(uint32_t kernel, const LaunchShape& shape, uint64_t block_linear,
                                 const uint8_t* params, const AddressSpace& memory,
                                 const LaunchClock& clock, uint64_t budget,
                                 BlockCounters& counters) const {
  GridLaunch launch;
  launch.kernel = kernel;
  launch.shape = shape;
  launch.params = params;
  launch.memory = &memory;
  launch.clock = clock;
  launch.budget_warp_instructions = budget;
  launch.sample = {block_linear};
  const auto run = start_grid(launch);
  run->work({});
  counters.add(run->counters());
  return run->fault();
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
  add_device_runtime(*module);
  auto program = std::make_shared<CompiledProgram>();
  if (Status s = program->build(*module); !s.ok()) return s.error();
  return std::shared_ptr<Program>(program);
}

}  // namespace gacer::simdevice
