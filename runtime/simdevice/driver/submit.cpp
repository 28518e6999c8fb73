// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/submit.h"

#include <cstring>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/event.h"
#include "runtime/simdevice/driver/host_function.h"
#include "runtime/simdevice/driver/module.h"
#include "runtime/simdevice/driver/tools_call.h"

namespace gacer::simdriver {
namespace {

using namespace simdevice;

template <typename M>
M make_op(SimType type, const Stream& stream, uint32_t bytes = sizeof(M)) {
  M message = make_message<M>(type, bytes);
  const uint32_t place[] = {stream.context_id, stream.counter->id};
  memcpy(reinterpret_cast<char*>(&message) + offsetof(OpHeader, context), place, sizeof place);
  return message;
}

// Of the newest operation that this thread has sent.
uint64_t& sent_seq() {
  thread_local uint64_t seq = 0;
  return seq;
}

CUresult send_noted(const Stream& stream, void* message, size_t bytes) {
  SIM_TRY(Driver::get().link().send_op(*stream.counter, message, bytes));
  memcpy(&sent_seq(), static_cast<char*>(message) + offsetof(OpHeader, seq), sizeof(uint64_t));
  return CUDA_SUCCESS;
}

template <typename M>
CUresult send(const Stream& stream, M& message) {
  return send_noted(stream, &message, sizeof message);
}

// One for each kind of work; each sends one operation.
struct Issuer {
  const Stream& stream;
  IssueMode mode;

  CUresult operator()(const EmptyWork&) const {
    auto op = make_op<OpHeader>(SimType::kOpNop, stream);
    return send(stream, op);
  }

  CUresult operator()(const KernelWork& work) const {
    const auto param_bytes = static_cast<uint32_t>(work.params.size());
    auto op = make_op<KernelOp>(SimType::kOpKernel, stream,
                                static_cast<uint32_t>(sizeof(KernelOp)) + param_bytes);
    op.module = work.function->server_module;
    op.kernel = work.function->index;
    memcpy(op.grid, work.grid.data(), sizeof op.grid);
    memcpy(op.block, work.block.data(), sizeof op.block);
    op.dynamic_smem_bytes = work.dynamic_smem_bytes;
    op.priority = mode.from_graph && !mode.node_priority ? kStreamPriority : work.priority;
    op.flags = (work.cooperative ? kKernelCooperative : 0) | (mode.from_graph ? kOpFromGraph : 0);
    op.cluster = work.cluster[0] | work.cluster[1] << 8 | work.cluster[2] << 16;
    op.param_bytes = param_bytes;
    thread_local std::vector<uint8_t> packet;
    packet.resize(sizeof op + param_bytes);
    memcpy(packet.data(), &op, sizeof op);
    if (param_bytes > 0) memcpy(packet.data() + sizeof op, work.params.data(), param_bytes);
    return send_noted(stream, packet.data(), packet.size());
  }

  CUresult operator()(const CopyWork& work) const {
    auto op = make_op<CopyOp>(SimType::kOpCopy, stream);
    op.dst = work.dst;
    op.src = work.src;
    op.width_bytes = work.width_bytes;
    op.height = work.height;
    op.depth = work.depth;
    op.dst_pitch = work.dst_pitch;
    op.src_pitch = work.src_pitch;
    op.dst_slice_pitch = work.dst_slice_pitch;
    op.src_slice_pitch = work.src_slice_pitch;
    op.kind = static_cast<uint32_t>(work.kind);
    op.pinned = work.pageable ? 0 : 1;
    return send(stream, op);
  }

  CUresult operator()(const MemsetWork& work) const {
    auto op = make_op<MemsetOp>(SimType::kOpMemset, stream);
    op.dst = work.dst;
    op.width_elements = work.width_elements;
    op.height = work.height;
    op.pitch = work.pitch;
    op.value = work.value;
    op.element_bytes = work.element_bytes;
    return send(stream, op);
  }

  CUresult operator()(const HostWork& work) const {
    auto op = make_op<HostFunctionOp>(SimType::kOpHostFunction, stream);
    SIM_TRY(register_host_function(work, op));
    return send(stream, op);
  }

  CUresult operator()(const EventRecordWork& work) const {
    Event& event = *work.event;
    auto op = make_op<EventOp>(SimType::kOpEventRecord, stream);
    const std::lock_guard lock(event.mutex);
    if (event.shared_id != 0) {
      op.event = kSharedEvent | event.shared_id;
      return send(stream, op);
    }
    op.event = event.id;
    op.timing = event.timing() ? 1 : 0;
    op.generation = event.generation + 1;
    SIM_TRY(send(stream, op));
    event.generation = op.generation;
    event.recorded = true;
    event.stream = op.op.stream;
    event.seq = op.op.seq;
    return CUDA_SUCCESS;
  }

  CUresult operator()(const EventWaitWork& work) const {
    auto op = make_op<EventOp>(SimType::kOpEventWait, stream);
    {
      const std::lock_guard lock(work.event->mutex);
      if (work.event->shared_id != 0) {
        op.event = kSharedEvent | work.event->shared_id;
        return send(stream, op);
      }
      if (!work.event->recorded) return CUDA_SUCCESS;
      op.event = work.event->id;
      op.generation = work.event->generation;
    }
    return send(stream, op);
  }

  CUresult operator()(const BatchWork& work) const {
    for (const ValueWork& value : work.operations) {
      auto op =
          make_op<ValueOp>(value.wait ? SimType::kOpWaitValue : SimType::kOpWriteValue, stream);
      op.address = value.address;
      op.value = value.value;
      op.bytes = value.bytes;
      op.compare = static_cast<uint32_t>(value.compare);
      SIM_TRY(send(stream, op));
    }
    return CUDA_SUCCESS;
  }

  CUresult operator()(const ChildGraphWork&) const { return CUDA_ERROR_INVALID_VALUE; }
  CUresult operator()(const ConditionalWork&) const { return CUDA_ERROR_INVALID_VALUE; }

  // The launch has seen to the memory: only their places in the order are left.
  CUresult operator()(const MemAllocWork&) const { return (*this)(EmptyWork{}); }
  CUresult operator()(const MemFreeWork&) const { return (*this)(EmptyWork{}); }
};

}  // namespace

CUresult issue(const Stream& stream, const Work& work, const IssueMode& mode) {
  const bool traced = activity_is_traced();
  if (traced != server_traces()) SIM_TRY(set_trace(traced));
  SIM_TRY(std::visit(Issuer{stream, mode}, work));
  if (traced) note_submitted(stream, sent_seq(), work);
  return CUDA_SUCCESS;
}

CUresult submit(const std::shared_ptr<Stream>& stream, const Work& work) {
  if (captures_active()) {
    bool captured = false;
    SIM_TRY(capture_work(stream, work, captured));
    if (captured) return CUDA_SUCCESS;
  }
  return issue(*stream, work, {});
}

}  // namespace gacer::simdriver
