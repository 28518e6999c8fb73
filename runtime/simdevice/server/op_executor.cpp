// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/op_executor.h"

#include <cuda.h>

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
  }
  return CUDA_ERROR_UNKNOWN;
}

StartResult skipped() {
  StartResult result;
  result.skip = true;
  return result;
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

}  // namespace

StartResult OpExecutor::op_started(const Op& op, uint64_t now_ns) {
  PendingOp& pending = pending_.at(op.spec.cookie);
  Client& client = *pending.client;
  if (client.sticky_error != 0) return skipped();
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

StartResult OpExecutor::start_kernel(Client& client, const KernelPayload& kernel, uint64_t now_ns) {
  const ClockPause pause(clock_);
  Launch launch;
  launch.module = kernel.module.get();
  launch.kernel = kernel.op.kernel;
  for (size_t i = 0; i < 3; ++i) {
    launch.shape.grid[i] = kernel.op.grid[i];
    launch.shape.block[i] = kernel.op.block[i];
  }
  launch.shape.dynamic_smem_bytes = kernel.op.dynamic_smem_bytes;
  launch.params = kernel.params;
  launch.client_socket = client.socket.get();
  const LaunchOutcome outcome = kernels_.run(launch, client.memory, now_ns);
  if (outcome.fault.kind != FaultKind::kNone) {
    fail(client, cuda_error_of(outcome.fault.kind), outcome.fault.message);
    return skipped();
  }
  StartResult result;
  result.kernel = StartedKernel{outcome.cost, launch.shape.block_count()};
  return result;
}

StartResult OpExecutor::start_effect(Client& client, const std::string& failure) {
  if (failure.empty()) return {};
  fail(client, CUDA_ERROR_ILLEGAL_ADDRESS, failure);
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
  pending_.release_client(&client);
}

void OpExecutor::fail(Client& client, int cuda_error, std::string_view text) {
  if (client.sticky_error != 0) return;
  client.sticky_error = cuda_error;
  client.page.set_sticky_error(cuda_error, text);
  log_line(LogLevel::kError, "simgpu-server", "%s (pid %d): error %d: %.*s", client.label.c_str(),
           static_cast<int>(client.pid), cuda_error, static_cast<int>(text.size()), text.data());
}

void OpExecutor::op_ended(const Op& op, uint64_t start_ns, uint64_t end_ns) {
  PendingOp& pending = pending_.at(op.spec.cookie);
  if (timeline_.enabled()) record_span(op, pending, start_ns, end_ns);
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
