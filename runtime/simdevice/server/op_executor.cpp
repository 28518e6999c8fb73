// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/op_executor.h"

#include <cuda.h>

#include <algorithm>
#include <ctime>

#include "runtime/base/log.h"
#include "runtime/simdevice/server/copy_ops.h"
#include "runtime/simdevice/server/packet_socket.h"

namespace gacer::simdevice {
namespace {

int cuda_error_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone:
      return CUDA_SUCCESS;
    case FaultKind::kIllegalAddress:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FaultKind::kMisalignedAddress:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FaultKind::kTrap:
      return CUDA_ERROR_LAUNCH_FAILED;
    case FaultKind::kAssert:
      return CUDA_ERROR_ASSERT;
    case FaultKind::kUnsupported:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case FaultKind::kTimeout:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case FaultKind::kInvalidPc:
      return CUDA_ERROR_INVALID_PC;
    case FaultKind::kStackOverflow:
      return CUDA_ERROR_HARDWARE_STACK_ERROR;
  }
  return CUDA_ERROR_UNKNOWN;
}

StartResult skipped() {
  StartResult result;
  result.skip = true;
  return result;
}

constexpr double kForeverNs = 1e16;  // some months of model time

// One block, so that it keeps an SM but does not hide what others do.
StartedKernel hung_kernel() {
  StartedKernel kernel;
  kernel.cost.alone_ns = kForeverNs;
  return kernel;
}

// Every demand grows, and none depends on the caches any more.
void slow_down(KernelCost& cost, double times) {
  cost.caches = nullptr;
  cost.alone_ns *= times;
  cost.dram_bytes *= times;
  cost.l2_ns *= times;
  for (double& pipe : cost.pipe_ns) pipe *= times;
}

const char* copy_name(OpKind kind) {
  switch (kind) {
    case OpKind::kCopyToDevice:
      return "copy HtoD";
    case OpKind::kCopyToHost:
      return "copy DtoH";
    case OpKind::kCopyOnDevice:
      return "copy DtoD";
    default:
      return "copy HtoH";
  }
}

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

// nullptr: the kernel does without.
DeviceHeap* heap_of(Client& client, const KernelPayload& kernel) {
  const auto& kernels = kernel.module->program->kernels();
  if (kernel.op.kernel >= kernels.size() || !kernels[kernel.op.kernel].uses_heap) return nullptr;
  auto& heap = client.heaps[kernel.module->context];
  if (heap == nullptr) heap = std::make_unique<DeviceHeap>();
  return heap.get();
}

}  // namespace

StartResult OpExecutor::op_started(const Op& op, uint64_t now_ns) {
  PendingOp& pending = pending_.at(op.spec.cookie);
  if (pending.client->sticky_error != 0) return skipped();
  const StartResult result = start_payload(pending, op, now_ns);
  note_start(pending, op, result, now_ns);
  return result;
}

// For observers and for clients that are traced.
void OpExecutor::note_start(PendingOp& pending, const Op& op, const StartResult& result,
                            uint64_t now_ns) {
  if (result.kernel) {
    usage_[pending.engine].kernel_started(pending.client, now_ns);
    pending.kernel_runs = true;
    pending.memory_bytes = static_cast<uint64_t>(result.kernel->cost.dram_bytes *
                                                 static_cast<double>(result.kernel->blocks));
  } else if (!result.skip && op.spec.kind == OpKind::kCopyOnDevice) {
    pending.memory_bytes = 2 * op.spec.bytes;
  } else if (!result.skip && op.spec.kind != OpKind::kCopyOnHost) {
    pending.memory_bytes = op.spec.bytes;
  }
  if (pending.traced) pending.host_offset_ns = host_offset_ns(now_ns);
}

// Never smaller than before: what follows on another operation in model time does so in host time.
// Not larger than the clock says either: nothing ends after its end was told.
uint64_t OpExecutor::host_offset_ns(uint64_t model_ns) {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  const uint64_t host_ns =
      static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  host_offset_ns_ = std::max(host_offset_ns_, host_ns - clock_.real_ns_since(model_ns) - model_ns);
  return host_offset_ns_;
}

void OpExecutor::note_end(PendingOp& pending, uint64_t start_ns, uint64_t end_ns) {
  Client& client = *pending.client;
  DeviceUsage& usage = usage_[pending.engine];
  if (pending.kernel_runs) usage.kernel_ended(&client, end_ns);
  if (pending.memory_bytes > 0) usage.memory_moved(start_ns, end_ns, pending.memory_bytes);
  const bool told = std::holds_alternative<KernelPayload>(pending.payload) ||
                    std::holds_alternative<CopyOp>(pending.payload) ||
                    std::holds_alternative<MemsetOp>(pending.payload);
  if (!pending.traced || client.trace == nullptr || !told) return;
  if (pending.host_offset_ns == 0) pending.host_offset_ns = host_offset_ns(start_ns);
  client.trace->add({.seq = pending.seq,
                     .stream = pending.stream,
                     .reserved = 0,
                     .start_ns = start_ns + pending.host_offset_ns,
                     .end_ns = end_ns + pending.host_offset_ns});
}

StartResult OpExecutor::start_payload(PendingOp& pending, const Op& op, uint64_t now_ns) {
  Client& client = *pending.client;
  return std::visit(
      Overloaded{
          [](const std::monostate&) { return StartResult{}; },
          [](const RecordPayload&) { return StartResult{}; },
          [&](const KernelPayload& kernel) { return start_kernel(client, kernel, now_ns); },
          [&](const CopyOp& copy) {
            const ClockPause pause(clock_);
            return start_effect(client, run_copy(copy, client.memory));
          },
          [&](const MemsetOp& memset) {
            const ClockPause pause(clock_);
            return start_effect(client, run_memset(memset, client.memory));
          },
          [&](const WriteValuePayload& write) {
            return start_effect(client, run_write_value(write.op, client.memory));
          },
          [&](const WaitValuePayload& wait) { return start_wait(pending, op, wait); },
          [&](const RemoteWaitPayload& wait) { return start_remote_wait(pending, op, wait); },
          [&](const HostFunctionOp& function) {
            return start_host_function(pending, op, function);
          },
      },
      pending.payload);
}

// A lost device is told to everybody by the owner of the clients.
bool OpExecutor::suffer(Client& client, const LaunchFault& asked, StartResult& result) {
  if (asked.lost) lose_device();
  if (asked.error != 0) {
    fail_on_device(client, asked.error, asked.text);
    result = skipped();
    return true;
  }
  if (!asked.hang) return false;
  result.kernel = hung_kernel();
  return true;
}

StartResult OpExecutor::start_kernel(Client& client, const KernelPayload& kernel, uint64_t now_ns) {
  const ClockPause pause(clock_);
  const LaunchFault asked =
      faults_.launch(client.pid, kernel.module->program->kernels()[kernel.op.kernel].name);
  if (StartResult suffered; suffer(client, asked, suffered)) return suffered;
  Launch launch;
  launch.module = kernel.module.get();
  launch.kernel = kernel.op.kernel;
  for (size_t i = 0; i < 3; ++i) {
    launch.shape.grid[i] = kernel.op.grid[i];
    launch.shape.block[i] = kernel.op.block[i];
  }
  launch.shape.dynamic_smem_bytes = kernel.op.dynamic_smem_bytes;
  for (size_t i = 0; i < 3 && kernel.op.cluster != 0; ++i)
    launch.shape.cluster[i] = kernel.op.cluster >> (8 * i) & 0xff;
  launch.cooperative = (kernel.op.flags & kKernelCooperative) != 0;
  launch.heap = heap_of(client, kernel);
  launch.print_fd = client.print_file.get();
  launch.params = kernel.params;
  launch.textures = kernel.textures.get();
  launch.client_socket = client.socket.get();
  const LaunchOutcome outcome = kernels_.run(launch, client.memory, now_ns);
  if (client.memory.owner_is_gone()) return end_work(client);
  if (outcome.fault.kind != FaultKind::kNone) {
    fail_on_device(client, cuda_error_of(outcome.fault.kind), outcome.fault.message);
    return skipped();
  }
  StartResult result;
  result.kernel = StartedKernel{outcome.cost, outcome.blocks};
  if (asked.slower != 1.0) slow_down(result.kernel->cost, asked.slower);
  return result;
}

StartResult OpExecutor::end_work(Client& client) {
  client.sticky_error = CUDA_ERROR_CONTEXT_IS_DESTROYED;  // read by nobody, skips what follows
  return skipped();
}

StartResult OpExecutor::start_effect(Client& client, const std::string& failure) {
  if (failure.empty()) return {};
  if (client.memory.owner_is_gone()) return end_work(client);
  fail_on_device(client, CUDA_ERROR_ILLEGAL_ADDRESS, failure);
  return skipped();
}

StartResult OpExecutor::start_wait(PendingOp& pending, const Op& op, const WaitValuePayload& wait) {
  Client& client = *pending.client;
  switch (test_wait_value(wait.op, client.memory)) {
    case WaitState::kMet:
      return skipped();
    case WaitState::kBadAddress:
      return start_effect(client, "value wait: its address is not accessible");
    case WaitState::kNotYet:
      break;
  }
  waits_.push_back({&client, {pending.engine, op.id}, wait.op});
  ++client.externals;
  return {};
}

StartResult OpExecutor::start_remote_wait(PendingOp& pending, const Op& op,
                                          const RemoteWaitPayload& wait) {
  if (!wait.op.pending()) return skipped();
  waits_.push_back({pending.client, {pending.engine, op.id}, wait.op});
  ++pending.client->externals;
  return {};
}

StartResult OpExecutor::start_host_function(PendingOp& pending, const Op& op,
                                            const HostFunctionOp& function) {
  Client& client = *pending.client;
  HostFunctionOp message = function;
  message.op.header.type = static_cast<uint16_t>(SimType::kRunHostFunction);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&message);
  if (!send_packet(client.socket.get(), {bytes, sizeof message}, -1)) {
    fail(client, CUDA_ERROR_LAUNCH_FAILED, "host function: the client does not read its socket");
    return skipped();
  }
  client.host_functions[function.token] = {pending.engine, op.id};
  ++client.externals;
  return {};
}

bool OpExecutor::over(const Wait& wait) {
  if (wait.client->sticky_error != 0) return true;
  if (const auto* op = std::get_if<EngineOp>(&wait.until)) return !op->pending();
  const ValueOp& value = std::get<ValueOp>(wait.until);
  return test_wait_value(value, wait.client->memory) != WaitState::kNotYet;
}

void OpExecutor::poll_waits(uint64_t now_ns) {
  std::erase_if(waits_, [&](const Wait& wait) {
    if (!over(wait)) return false;
    --wait.client->externals;
    wait.op.engine->finish_external(wait.op.id, now_ns);
    return true;
  });
}

void OpExecutor::forget_client(const Client& client) {
  std::erase_if(waits_, [&](const Wait& wait) { return wait.client == &client; });
  for (auto& [engine, usage] : usage_) usage.forget_client(&client, clock_.now_ns());
  pending_.release_client(&client);
}

void OpExecutor::fail(Client& client, int cuda_error, std::string_view text) {
  if (client.sticky_error != 0) return;
  client.sticky_error = cuda_error;
  client.page.set_sticky_error(cuda_error, text);
  log_line(LogLevel::kError, "simgpu-server", "%s (pid %d): error %d: %.*s", client.label.c_str(),
           static_cast<int>(client.pid), cuda_error, static_cast<int>(text.size()), text.data());
}

void OpExecutor::fail_on_device(Client& client, int cuda_error, std::string_view text) {
  if (client.sticky_error == 0) client.device_fault = true;
  fail(client, cuda_error, text);
}

void OpExecutor::op_ended(const Op& op, uint64_t start_ns, uint64_t end_ns) {
  PendingOp& pending = pending_.at(op.spec.cookie);
  if (timeline_.enabled()) record_span(op, pending, start_ns, end_ns);
  note_end(pending, start_ns, end_ns);
  ClientPageOwner& page = pending.client->page;
  if (const auto* record = std::get_if<RecordPayload>(&pending.payload)) {
    page.record_completed(record->op.event, record->op.generation, end_ns, pending.stream,
                          pending.seq);
  } else {
    page.stream_completed(pending.stream, pending.seq);
  }
  pending_.release(op.spec.cookie);
}

void OpExecutor::record_span(const Op& op, const PendingOp& pending, uint64_t start_ns,
                             uint64_t end_ns) {
  const uint32_t client = pending.client->id();
  if (const auto* kernel = std::get_if<KernelPayload>(&pending.payload)) {
    const auto& kernels = kernel->module->program->kernels();
    timeline_.add_span(client, pending.stream, kernels[kernel->op.kernel].name, start_ns, end_ns);
  } else if (std::holds_alternative<CopyOp>(pending.payload)) {
    timeline_.add_span(client, pending.stream, copy_name(op.spec.kind), start_ns, end_ns);
  } else if (std::holds_alternative<MemsetOp>(pending.payload)) {
    timeline_.add_span(client, pending.stream, "memset", start_ns, end_ns);
  }
}

}  // namespace gacer::simdevice
