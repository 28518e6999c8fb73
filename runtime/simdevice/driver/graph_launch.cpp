// SPDX-License-Identifier: Apache-2.0
// Launches of graphs: memory first, then the nodes, branches in lanes of their own.
#include "runtime/simdevice/driver/conditional.h"
#include "runtime/simdevice/driver/context_order.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/graph_exec.h"
#include "runtime/simdevice/driver/graph_memory.h"
#include "runtime/simdevice/driver/module.h"
#include "runtime/simdevice/driver/submit.h"

namespace gacer::simdriver {
namespace {

constexpr IssueMode kInGraph{true, false};

// Launches of one exec never overlap: the new one waits for the other stream.
CUresult order_after_last(GraphExec& exec, const std::shared_ptr<Stream>& stream) {
  const std::shared_ptr<Stream> last = exec.last_stream.lock();
  exec.last_stream = stream;
  if (last == nullptr || last == stream) return CUDA_SUCCESS;
  if (Driver::get().link().stream_done(last->counter->id, last->last_seq())) return CUDA_SUCCESS;
  const std::shared_ptr<Event> event = make_internal_event();
  if (event == nullptr) return synchronize_stream(*last);
  const CUresult recorded = issue(*last, EventRecordWork{event}, kInGraph);
  if (recorded == CUDA_ERROR_INVALID_HANDLE) return synchronize_stream(*last);  // has been ended
  SIM_TRY(recorded);
  return issue(*stream, EventWaitWork{event}, kInGraph);
}

// Allocates and frees for all nodes before anything is sent, so that a launch that lacks memory
// does nothing. In the order of execution: what one node frees another may allocate again.
CUresult prepare_memory(const GraphExec& exec) {
  const bool auto_free = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  std::vector<std::shared_ptr<GraphMemory>> done;
  CUresult status = CUDA_SUCCESS;
  for (const GraphExec::Node& node : exec.nodes) {
    if (const auto* alloc = std::get_if<MemAllocWork>(&node.work)) {
      if (auto_free) graph_memories().free(*alloc->memory);
      status = graph_memories().allocate(alloc->memory);
      if (status != CUDA_SUCCESS) break;
      done.push_back(alloc->memory);
    } else if (const auto* free = std::get_if<MemFreeWork>(&node.work)) {
      if (!graph_memories().free(*free->memory)) status = CUDA_ERROR_INVALID_VALUE;
      if (status != CUDA_SUCCESS) break;
    }
  }
  if (status != CUDA_SUCCESS)
    for (const auto& memory : done) graph_memories().free(*memory);
  return status;
}

void note_memory_use(const GraphExec& exec, const Stream& stream) {
  for (const GraphExec::Node& node : exec.nodes) {
    if (const auto* alloc = std::get_if<MemAllocWork>(&node.work))
      graph_memories().used_by(*alloc->memory, stream);
    if (const auto* free = std::get_if<MemFreeWork>(&node.work))
      graph_memories().used_by(*free->memory, stream);
  }
}

std::optional<uint32_t> context_of(const Work& work) {
  const auto* kernel = std::get_if<KernelWork>(&work);
  if (kernel == nullptr) return std::nullopt;
  return kernel->function->context_id;
}

std::vector<LaneNode> lane_nodes(const GraphExec& exec) {
  std::vector<LaneNode> nodes;
  nodes.reserve(exec.nodes.size());
  for (const GraphExec::Node& node : exec.nodes)
    nodes.push_back({node.dependencies, context_of(node.work)});
  return nodes;
}

CUresult prepare_plan(GraphExec& exec, uint32_t context_id) {
  if (exec.plan && exec.plan_context == context_id) return CUDA_SUCCESS;
  LanePlan plan = plan_lanes(lane_nodes(exec), context_id);
  exec.signals.assign(exec.nodes.size(), nullptr);
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (plan.steps[i].signals && (exec.signals[i] = make_internal_event()) == nullptr)
      return CUDA_ERROR_OUT_OF_MEMORY;
  exec.start = plan.uses_start() ? make_internal_event() : nullptr;
  if (plan.uses_start() && exec.start == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  exec.plan = std::move(plan);
  exec.plan_context = context_id;
  return CUDA_SUCCESS;
}

// A lane ends when nothing refers to it any more.
std::shared_ptr<Stream> end_with_last_reference(std::shared_ptr<Stream> stream) {
  Stream* raw = stream.get();
  return {raw, [kept = std::move(stream)](Stream*) {
            if (Driver::get().initialized() == CUDA_SUCCESS) end_stream(*kept);
          }};
}

CUresult open_lane(const Stream& origin, uint32_t context_id, std::shared_ptr<Stream>& out) {
  std::shared_ptr<Context> context = origin.context.lock();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (context->id() != context_id) SIM_TRY(context_with_id(context_id, context));
  SIM_TRY(open_stream(context, CU_STREAM_NON_BLOCKING, origin.priority, out));
  out = end_with_last_reference(std::move(out));
  return CUDA_SUCCESS;
}

// The streams of a plan's lanes. Under the origin's lanes_mutex. Lanes beyond the ids of streams
// that are left fall together with the launch stream: in order, so still right.
class LaneStreams {
 public:
  // `next`: the first of the origin's lanes that may be taken, and then the first that is left.
  CUresult open(const LanePlan& plan, const std::shared_ptr<Stream>& origin, size_t& next) {
    streams_.push_back(origin);
    for (size_t lane = 1; lane < plan.lane_contexts.size(); ++lane) {
      std::shared_ptr<Stream> stream;
      const CUresult found = take(*origin, plan.lane_contexts[lane], next, stream);
      if (found == CUDA_ERROR_OUT_OF_MEMORY && plan.lane_contexts[lane] == origin->context_id)
        stream = origin;
      else
        SIM_TRY(found);
      streams_.push_back(std::move(stream));
    }
    return CUDA_SUCCESS;
  }
  const std::shared_ptr<Stream>& at(size_t lane) const { return streams_[lane]; }

 private:
  static CUresult take(Stream& origin, uint32_t context_id, size_t& next,
                       std::shared_ptr<Stream>& out) {
    for (; next < origin.lanes.size(); ++next)
      if (origin.lanes[next].context_id == context_id) {
        out = origin.lanes[next++].stream;
        return CUDA_SUCCESS;
      }
    SIM_TRY(open_lane(origin, context_id, out));
    origin.lanes.push_back({context_id, out});
    next = origin.lanes.size();
    return CUDA_SUCCESS;
  }
  std::vector<std::shared_ptr<Stream>> streams_;
};

// Where the bodies of a conditional node in `lane` run, while the lane waits.
CUresult body_stream_of(const std::shared_ptr<Stream>& lane, bool is_origin,
                        std::shared_ptr<Stream>& out) {
  std::unique_lock<std::mutex> lock(lane->lanes_mutex, std::defer_lock);
  if (!is_origin) lock.lock();  // of the origin it is held already
  if (lane->body_lane == nullptr) SIM_TRY(open_lane(*lane, lane->context_id, lane->body_lane));
  out = lane->body_lane;
  return CUDA_SUCCESS;
}

struct NodeIssuer {
  GraphExec& exec;
  const std::shared_ptr<Stream>& origin;
  const IssueMode& mode;
  size_t next_lane;

  CUresult before(const LanePlan::Step& step, const Stream& lane) const {
    if (step.waits_for_start) SIM_TRY(issue(lane, EventWaitWork{exec.start}, mode));
    for (const size_t other : step.waits)
      SIM_TRY(issue(lane, EventWaitWork{exec.signals[other]}, mode));
    return CUDA_SUCCESS;
  }
  CUresult node(const GraphExec::Node& node, const std::shared_ptr<Stream>& lane) const {
    if (!node.enabled) return CUDA_SUCCESS;
    if (node.child != nullptr && lane != origin) return issue_graph(*node.child, lane, mode);
    if (node.child != nullptr) return issue_child_here(*node.child);
    if (node.conditional == nullptr) return issue(*lane, node.work, mode);
    std::shared_ptr<Stream> body;
    SIM_TRY(body_stream_of(lane, lane == origin, body));
    return issue_conditional(node.conditional, *lane, std::move(body), mode);
  }
  CUresult issue_child_here(GraphExec& child) const;
};

// Under the origin's lanes_mutex and the exec's lock.
CUresult issue_nodes(GraphExec& exec, const std::shared_ptr<Stream>& origin, const IssueMode& mode,
                     size_t next_lane = 0) {
  SIM_TRY(prepare_plan(exec, origin->context_id));
  const LanePlan& plan = *exec.plan;
  LaneStreams lanes;
  SIM_TRY(lanes.open(plan, origin, next_lane));
  if (exec.start != nullptr) SIM_TRY(issue(*origin, EventRecordWork{exec.start}, mode));
  const NodeIssuer issuer{exec, origin, mode, next_lane};
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    const LanePlan::Step& step = plan.steps[i];
    const std::shared_ptr<Stream>& lane = lanes.at(step.lane);
    SIM_TRY(issuer.before(step, *lane));
    SIM_TRY(issuer.node(exec.nodes[i], lane));
    if (step.signals) SIM_TRY(issue(*lane, EventRecordWork{exec.signals[i]}, mode));
  }
  for (const size_t last : plan.ends)
    SIM_TRY(issue(*origin, EventWaitWork{exec.signals[last]}, mode));
  return CUDA_SUCCESS;
}

// Its branches take lanes of the launch stream that the graph around it does not use.
CUresult NodeIssuer::issue_child_here(GraphExec& child) const {
  const std::lock_guard lock(child.mutex);
  return issue_nodes(child, origin, mode, next_lane);
}

CUresult set_defaults(const GraphExec& exec, const Stream& stream) {
  BatchWork defaults;
  for (const auto& conditional : exec.defaults)
    defaults.operations.push_back({false, conditional->value->address(), conditional->default_value,
                                   4, simdevice::WaitCompare::kGeq});
  return defaults.operations.empty() ? CUDA_SUCCESS : issue(stream, defaults, kInGraph);
}

}  // namespace

CUresult issue_graph(GraphExec& exec, const std::shared_ptr<Stream>& stream,
                     const IssueMode& mode) {
  const std::lock_guard lock(exec.mutex);
  const std::lock_guard lanes(stream->lanes_mutex);
  return issue_nodes(exec, stream, mode);
}

CUresult launch_exec(GraphExec& exec, const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(exec.mutex);
  const std::lock_guard lanes(stream->lanes_mutex);
  SIM_TRY(prepare_memory(exec));
  SIM_TRY(order_after_last(exec, stream));
  SIM_TRY(set_defaults(exec, *stream));
  const bool node_priority = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  const CUresult issued = issue_nodes(exec, stream, {true, node_priority});
  note_memory_use(exec, *stream);
  return issued;
}

}  // namespace gacer::simdriver
