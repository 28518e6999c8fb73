// SPDX-License-Identifier: Apache-2.0
// What the implementations share: streams, order, captures.
#include "tests/property/model/call.h"

#include <algorithm>

namespace gacer::property {
namespace {

constexpr uint64_t kNodeBase = 0x900'0000;

}  // namespace

Stream& Call::default_stream(bool legacy) {
  const uint64_t serial = s.contexts.at(context()).serial;
  const uint64_t order = serial << 32 | (legacy ? 0u : static_cast<unsigned>(thread.index) + 1);
  Stream& stream = s.streams[order];
  stream.context = context();
  stream.order = order;
  stream.legacy = legacy;
  return stream;
}

Stream* Call::stream(CUstream handle, CUresult& error) {
  error = CUDA_ERROR_INVALID_CONTEXT;
  const bool is_default =
      handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
  if (is_default && !has_context()) return nullptr;
  error = CUDA_SUCCESS;
  if (is_default)
    return &default_stream(handle == CU_STREAM_LEGACY || (handle == nullptr && !per_thread));
  const auto found = s.stream_orders.find(number(handle));
  if (found != s.stream_orders.end()) return &s.streams.at(found->second);
  error = CUDA_ERROR_INVALID_HANDLE;
  return nullptr;
}

Event* Call::event(CUevent handle) {
  auto& mine = program ? s.events : s.shim_events;
  const auto found = mine.find(number(handle));
  return found == mine.end() ? nullptr : &found->second;
}

CUresult Call::submit(CUstream handle, const Work& work) {
  CUresult error = CUDA_SUCCESS;
  Stream* target = stream(handle, error);
  return target == nullptr ? error : submit_to(*target, work);
}

CUresult Call::submit_to(Stream& stream, const Work& work, const std::vector<uint64_t>& after) {
  if (stream.capture != 0) return capture_work(stream, work);
  if (stream.legacy && break_blocking_capture(stream.context))
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  Operation operation{s.next_operation++, after, work};
  // The legacy default stream waits for all blocking streams of its context, and they for it.
  for (const auto& [order, other] : s.streams) {
    if (other.context != stream.context || order == stream.order || other.queue.empty()) continue;
    if (stream.legacy ? other.blocking : stream.blocking && other.legacy)
      operation.after.push_back(other.last);
  }
  stream.last = operation.id;
  s.pending.insert(operation.id);
  stream.queue.push_back(std::move(operation));
  return CUDA_SUCCESS;
}

CUresult Call::submit_and_wait(const Work& work) {
  if (const CUresult refused = unsafe(); refused != CUDA_SUCCESS) return refused;
  CUresult error = CUDA_SUCCESS;
  Stream* target = stream(nullptr, error);
  if (target == nullptr) return error;
  error = submit_to(*target, work);
  if (error == CUDA_SUCCESS) wait_for(target->last);
  return error;
}

CUresult Call::capture_work(Stream& stream, const Work& work) {
  Capture& capture = s.captures.at(stream.capture);
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!work.takes_time() && work.kind != Work::Kind::kMark) return CUDA_SUCCESS;
  if (!program) model.violation("the shim put work of its own into a capture");
  Node node;
  node.work = work;
  node.graph = capture.graph;
  node.type = work.kind == Work::Kind::kKernel ? CU_GRAPH_NODE_TYPE_KERNEL
              : work.kind == Work::Kind::kCopy ? CU_GRAPH_NODE_TYPE_MEMCPY
              : work.kind == Work::Kind::kSet  ? CU_GRAPH_NODE_TYPE_MEMSET
              : work.kind == Work::Kind::kHost ? CU_GRAPH_NODE_TYPE_HOST
                                               : CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  add_node(capture.graph, node);
  return CUDA_SUCCESS;
}

void Call::invalidate(uint64_t capture) {
  const auto found = s.captures.find(capture);
  if (found != s.captures.end()) found->second.invalid = true;
}

bool Call::has_blocking_capture(uint64_t of_context) const {
  return std::any_of(s.streams.begin(), s.streams.end(), [&](const auto& entry) {
    const Stream& stream = entry.second;
    return stream.context == of_context && stream.blocking && stream.capture != 0;
  });
}

bool Call::break_blocking_capture(uint64_t of_context) {
  bool any = false;
  for (const auto& [order, stream] : s.streams) {
    if (stream.context != of_context || !stream.blocking || stream.capture == 0) continue;
    invalidate(stream.capture);
    any = true;
  }
  return any;
}

CUresult Call::unsafe() {
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  bool forbidden = false;
  for (auto& [id, capture] : s.captures) {
    const bool mine =
        capture.thread == thread.index && capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool global = capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                        thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!mine && !global) continue;
    capture.invalid = true;
    forbidden = true;
  }
  return forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

void Call::wait_for(uint64_t operation) {
  model.drain();
  while (s.pending.count(operation) != 0)
    if (!model.step()) return model.violation("a wait that can never end");
}

void Call::wait_for_context(uint64_t of_context) {
  std::vector<uint64_t> last;
  for (const auto& [order, stream] : s.streams)
    if (stream.context == of_context && !stream.queue.empty()) last.push_back(stream.last);
  for (const uint64_t operation : last) wait_for(operation);
}

uint64_t Call::add_node(uint64_t graph, const Node& node) {
  const uint64_t handle = lowest_free(s.nodes, kNodeBase);
  s.nodes[handle] = node;
  s.graphs.at(graph).nodes.push_back(handle);
  return handle;
}

void Call::destroy_graph(uint64_t graph) {
  for (const uint64_t node : s.graphs.at(graph).nodes) {
    const uint64_t child = s.nodes.at(node).child;
    if (child != 0) destroy_graph(child);
    s.nodes.erase(node);
  }
  s.graphs.erase(graph);
}

void Call::drop_context(uint64_t handle) {
  wait_for_context(handle);
  const auto of_context = [&](const auto& entry) { return entry.second.context == handle; };
  std::set<uint64_t> ended;
  for (const auto& [order, stream] : s.streams)
    if (stream.context == handle && stream.capture != 0) ended.insert(stream.capture);
  for (const uint64_t capture : ended) {
    destroy_graph(s.captures.at(capture).graph);
    s.captures.erase(capture);
  }
  for (auto& [order, stream] : s.streams)
    if (ended.count(stream.capture) != 0) stream.capture = 0;
  std::erase_if(s.stream_orders,
                [&](const auto& entry) { return s.streams.at(entry.second).context == handle; });
  std::erase_if(s.streams, of_context);
  std::erase_if(s.events, of_context);
  std::erase_if(s.shim_events, of_context);
  std::erase_if(s.functions, [&](const auto& entry) {
    const auto module = s.modules.find(entry.second.module);
    return module != s.modules.end() && of_context(*module);
  });
  std::erase_if(s.modules, of_context);
  for (const auto& [address, allocation] : s.memory)
    if (allocation.context == handle) s.used_bytes -= allocation.bytes.size();
  std::erase_if(s.memory, of_context);
  s.contexts.erase(handle);
}

std::shared_ptr<const WorkList> work_of(const DriverState& s, uint64_t graph) {
  auto list = std::make_shared<WorkList>();
  for (const uint64_t handle : s.graphs.at(graph).nodes) {
    const Node& node = s.nodes.at(handle);
    Work work = node.work;
    if (node.child != 0) {
      work.kind = Work::Kind::kGraph;
      work.graph = work_of(s, node.child);
    }
    list->push_back(std::move(work));
  }
  return list;
}

}  // namespace gacer::property
