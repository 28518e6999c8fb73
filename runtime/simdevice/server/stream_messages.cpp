// SPDX-License-Identifier: Apache-2.0
// Stream operations of MessageHandler: from message to engine operation.
#include <cuda.h>

#include <climits>

#include "runtime/simdevice/server/copy_ops.h"
#include "runtime/simdevice/server/message_handler.h"
#include "runtime/simdevice/server/message_parse.h"
#include "runtime/simdevice/server/texture_messages.h"

namespace gacer::simdevice {
namespace {

OpSpec spec_of(OpKind kind) {
  OpSpec spec;
  spec.kind = kind;
  return spec;
}

OpKind engine_kind(uint32_t copy_kind) {
  switch (static_cast<CopyKind>(copy_kind)) {
    case CopyKind::kHtoD:
      return OpKind::kCopyToDevice;
    case CopyKind::kDtoH:
      return OpKind::kCopyToHost;
    case CopyKind::kDtoD:
      return OpKind::kCopyOnDevice;
    case CopyKind::kHtoH:
      return OpKind::kCopyOnHost;
  }
  return OpKind::kInstant;
}

}  // namespace

std::string MessageHandler::dispatch_op(Client& client, SimType type,
                                        std::span<const uint8_t> bytes) {
  switch (type) {
    case SimType::kOpKernel:
      return op_kernel(client, bytes);
    case SimType::kOpCopy:
      return op_copy(client, bytes);
    case SimType::kOpMemset:
      return op_memset(client, bytes);
    case SimType::kOpEventRecord:
      return op_event_record(client, bytes);
    case SimType::kOpEventWait:
      return op_event_wait(client, bytes);
    case SimType::kOpHostFunction:
      return op_host_function(client, bytes);
    case SimType::kHostFunctionDone:
      return host_function_done(client, bytes);
    case SimType::kOpWriteValue:
      return op_value(client, bytes, false);
    case SimType::kOpWaitValue:
      return op_value(client, bytes, true);
    case SimType::kOpNop:
      return op_nop(client, bytes);
    default:
      return "message type " + std::to_string(static_cast<unsigned>(type)) + " is not known";
  }
}

std::string MessageHandler::submit(Client& client, const OpHeader& op, OpSpec spec, Payload payload,
                                   EngineOp* submitted) {
  const auto stream = client.streams.find(op.stream);
  if (stream == client.streams.end())
    return "operation on stream " + std::to_string(op.stream) + ", which does not exist";
  if (op.seq <= stream->second.last_seq) return "sequence numbers of a stream must increase";
  stream->second.last_seq = op.seq;
  Engine& engine = *stream->second.engine;
  spec.stream = stream->second.engine_stream;
  spec.cookie = executor_.pending().add({&client, &engine, op.stream, op.seq, std::move(payload)});
  executor_.pending().at(spec.cookie).traced = client.tracing;
  const OpId id = engine.submit(spec, clock_.now_ns());
  if (submitted != nullptr) *submitted = {&engine, id};
  return {};
}

const char* MessageHandler::why_not_launch(const Client& client, const KernelOp& op) const {
  const auto module = client.modules.find(op.module);
  if (module == client.modules.end()) return "launch of a module that is not loaded";
  const auto& kernels = module->second->program->kernels();
  if (op.kernel >= kernels.size()) return "launch of a kernel that the module does not have";
  const KernelInfo& info = kernels[op.kernel];
  if (op.param_bytes < info.param_bytes) return "launch with too few parameter bytes";
  const bool grid_fits = op.grid[0] > 0 && op.grid[0] <= INT32_MAX && op.grid[1] > 0 &&
                         op.grid[1] <= 65535 && op.grid[2] > 0 && op.grid[2] <= 65535;
  const uint64_t threads = uint64_t{op.block[0]} * op.block[1] * op.block[2];
  const bool block_fits = op.block[0] <= 1024 && op.block[1] <= 1024 && op.block[2] <= 64 &&
                          threads > 0 && threads <= info.max_threads_per_block;
  if (!grid_fits || !block_fits) return "launch with a grid or block outside the limits";
  const uint64_t smem = uint64_t{op.dynamic_smem_bytes} + info.static_smem_bytes;
  if (smem > device_.spec.smem_per_block_optin_bytes) return "launch with too much shared memory";
  const KernelShape shape{static_cast<uint32_t>(threads), info.regs_per_thread,
                          static_cast<uint32_t>(smem), 1, 0};
  if (blocks_per_sm(device_.spec, kernel_cost(device_, shape, {}, 1)) == 0)
    return "launch needs more registers or shared memory than an SM has";
  return nullptr;
}

std::string MessageHandler::op_kernel(Client& client, std::span<const uint8_t> bytes) {
  KernelOp op;
  if (bytes.size() < sizeof op) return kWrongSize;
  std::memcpy(&op, bytes.data(), sizeof op);
  const auto params = bytes.subspan(sizeof op);
  if (params.size() != op.param_bytes) return kWrongSize;
  const auto stream = client.streams.find(op.op.stream);
  if (stream == client.streams.end()) return "launch on a stream that does not exist";
  // The driver checks launches before it sends them; one that gets here wrong is a fault of the
  // context.
  if (const char* reason = why_not_launch(client, op); reason != nullptr) {
    executor_.fail(client, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, reason);
    return submit(client, op.op, spec_of(OpKind::kInstant), std::monostate{});
  }
  OpSpec spec = spec_of(OpKind::kKernel);
  spec.from_graph = (op.flags & kOpFromGraph) != 0;
  spec.priority =
      op.priority == INT32_MIN ? stream->second.priority : std::clamp(op.priority, -5, 0);
  const auto& module = client.modules[op.module];
  KernelPayload payload{
      op, module, {params.begin(), params.end()}, textures_of(client, module->context)};
  return submit(client, op.op, spec, std::move(payload));
}

std::string MessageHandler::op_copy(Client& client, std::span<const uint8_t> bytes) {
  CopyOp op;
  if (!parse(bytes, op)) return kWrongSize;
  const auto size = copy_bytes(op);
  if (!size || op.kind < 1 || op.kind > 4) return "copy with an impossible shape";
  OpSpec spec = spec_of(engine_kind(op.kind));
  // Between devices the bytes cross the bus.
  if (spec.kind == OpKind::kCopyOnDevice &&
      client.memory.location(op.dst) != client.memory.location(op.src))
    spec.kind = OpKind::kCopyToHost;
  spec.bytes = *size;
  spec.pinned = op.pinned != 0;
  return submit(client, op.op, spec, op);
}

std::string MessageHandler::op_memset(Client& client, std::span<const uint8_t> bytes) {
  MemsetOp op;
  if (!parse(bytes, op)) return kWrongSize;
  const auto size = memset_bytes(op);
  if (!size) return "memset with an impossible shape";
  OpSpec spec = spec_of(OpKind::kMemset);
  spec.bytes = *size;
  return submit(client, op.op, spec, op);
}

std::string MessageHandler::op_event_record(Client& client, std::span<const uint8_t> bytes) {
  EventOp op;
  if (!parse(bytes, op)) return kWrongSize;
  if ((op.event & kSharedEvent) != 0) return shared_event(client, op, true);
  if (op.event >= kSimEvents) return "event id out of range";
  EngineOp record;
  std::string problem =
      submit(client, op.op, spec_of(OpKind::kInstant), RecordPayload{op}, &record);
  EventSlot& slot = client.events[op.event];
  std::erase_if(slot, [](const auto& known) { return !known.second.pending(); });
  if (problem.empty()) slot.emplace_back(op.generation, record);
  return problem;
}

std::string MessageHandler::op_event_wait(Client& client, std::span<const uint8_t> bytes) {
  EventOp op;
  if (!parse(bytes, op)) return kWrongSize;
  if ((op.event & kSharedEvent) != 0) return shared_event(client, op, false);
  if (op.event >= kSimEvents) return "event id out of range";
  // A record that is not pending any more, or never was, holds nobody up.
  EngineOp awaited;
  if (const auto slot = client.events.find(op.event); slot != client.events.end())
    for (const auto& [generation, record] : slot->second)
      if (generation == op.generation) awaited = record;
  return wait_for(client, op.op, awaited);
}

// Polled for also on one device: an operation of another client may vanish without an end.
std::string MessageHandler::shared_event(Client& client, const EventOp& op, bool record) {
  const auto found = client.shared_events.find(op.event & ~kSharedEvent);
  if (found == client.shared_events.end()) return "shared event that does not exist";
  SharedEvent& event = *found->second;
  if (record)
    return submit(client, op.op, spec_of(OpKind::kInstant), std::monostate{}, &event.newest);
  if (!event.newest.pending())
    return submit(client, op.op, spec_of(OpKind::kInstant), std::monostate{});
  return submit(client, op.op, spec_of(OpKind::kExternal), RemoteWaitPayload{event.newest});
}

std::string MessageHandler::wait_for(Client& client, const OpHeader& op, const EngineOp& awaited) {
  const auto stream = client.streams.find(op.stream);
  const bool elsewhere = awaited.engine != nullptr && stream != client.streams.end() &&
                         stream->second.engine != awaited.engine;
  if (elsewhere) return submit(client, op, spec_of(OpKind::kExternal), RemoteWaitPayload{awaited});
  OpSpec spec = spec_of(OpKind::kInstant);
  spec.wait_for = awaited.id;
  return submit(client, op, spec, std::monostate{});
}

std::string MessageHandler::op_host_function(Client& client, std::span<const uint8_t> bytes) {
  HostFunctionOp op;
  if (!parse(bytes, op)) return kWrongSize;
  return submit(client, op.op, spec_of(OpKind::kExternal), op);
}

std::string MessageHandler::host_function_done(Client& client, std::span<const uint8_t> bytes) {
  HostFunctionOp op;
  if (!parse(bytes, op)) return kWrongSize;
  const auto running = client.host_functions.find(op.token);
  if (running == client.host_functions.end()) return "host function that is done was not running";
  running->second.engine->finish_external(running->second.id, clock_.now_ns());
  client.host_functions.erase(running);
  --client.externals;
  return {};
}

std::string MessageHandler::op_value(Client& client, std::span<const uint8_t> bytes, bool wait) {
  ValueOp op;
  if (!parse(bytes, op)) return kWrongSize;
  if ((op.bytes != 4 && op.bytes != 8) || (wait && op.compare > 3))
    return "value operation is malformed";
  if (wait) return submit(client, op.op, spec_of(OpKind::kExternal), WaitValuePayload{op});
  return submit(client, op.op, spec_of(OpKind::kInstant), WriteValuePayload{op});
}

std::string MessageHandler::op_nop(Client& client, std::span<const uint8_t> bytes) {
  OpHeader op;
  if (!parse(bytes, op)) return kWrongSize;
  return submit(client, op, spec_of(OpKind::kInstant), std::monostate{});
}

}  // namespace gacer::simdevice
