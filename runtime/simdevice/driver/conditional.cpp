// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/conditional.h"

#include <algorithm>
#include <functional>
#include <map>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/graph_handles.h"

namespace gacer::simdriver {
namespace {

// Guarded by graph_lock().
std::map<uint64_t, std::weak_ptr<Conditional>>& conditionals() {
  static auto& all = *new std::map<uint64_t, std::weak_ptr<Conditional>>;
  return all;
}

bool size_suits(CUgraphConditionalNodeType type, unsigned size) {
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
      return size == 1 || size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
      return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return size > 0;
  }
  return false;
}

// One run of a node.
struct Run : std::enable_shared_from_this<Run> {
  std::shared_ptr<ConditionalExec> node;
  std::shared_ptr<Stream> stream;
  IssueMode mode;
  uint64_t number = 0;

  GraphExec* choose() const {
    const uint32_t value = node->conditional->value->load();
    const auto& bodies = node->bodies;
    switch (node->type) {
      case CU_GRAPH_COND_TYPE_SWITCH:
        return value < bodies.size() ? bodies[value].get() : nullptr;
      case CU_GRAPH_COND_TYPE_WHILE:
        return value != 0 ? bodies[0].get() : nullptr;
      default:
        if (value != 0) return bodies[0].get();
        return bodies.size() > 1 ? bodies[1].get() : nullptr;
    }
  }
  CUresult issue_body(GraphExec& body) {
    SIM_TRY(issue_graph(body, stream, mode));
    if (node->type == CU_GRAPH_COND_TYPE_WHILE) return issue(*stream, as_work(), mode);
    BatchWork over;
    over.operations.push_back(
        {false, node->done->address(), number, 8, simdevice::WaitCompare::kGeq});
    return issue(*stream, over, mode);
  }
  // What cannot be issued must not hold up the stream: the error is sticky or its context is gone.
  void step() {
    GraphExec* body = choose();
    if (body == nullptr || issue_body(*body) != CUDA_SUCCESS) node->done->store(number);
  }
  HostWork as_work() {
    HostWork work;
    work.internal = std::make_shared<const std::function<void()>>(
        [self = shared_from_this()] { self->step(); });
    return work;
  }
};

}  // namespace

std::shared_ptr<Conditional> find_conditional(CUgraphConditionalHandle handle) {
  const auto found = conditionals().find(handle);
  return found == conditionals().end() ? nullptr : found->second.lock();
}

CUresult make_conditional(CUDA_CONDITIONAL_NODE_PARAMS& params, Work& out) {
  const std::lock_guard lock(graph_lock());
  const std::shared_ptr<Conditional> conditional = find_conditional(params.handle);
  if (conditional == nullptr || conditional->has_node || !size_suits(params.type, params.size))
    return CUDA_ERROR_INVALID_VALUE;
  if (params.ctx != nullptr) {
    std::shared_ptr<Context> context;
    SIM_TRY(find_context(params.ctx, context));
    if (context->id() != conditional->context_id) return CUDA_ERROR_INVALID_VALUE;
  }
  ConditionalWork work{conditional, params.type, {}, std::make_shared<std::vector<CUgraph>>()};
  for (unsigned i = 0; i < params.size; ++i) {
    work.bodies.push_back(std::make_shared<Graph>());
    work.handles->push_back(handle_of(work.bodies.back().get()));
  }
  params.phGraph_out = work.handles->data();
  conditional->has_node = true;
  out = std::move(work);
  return CUDA_SUCCESS;
}

bool may_be_body(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    switch (node->type()) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
      case CU_GRAPH_NODE_TYPE_EMPTY:
      case CU_GRAPH_NODE_TYPE_MEMSET:
      case CU_GRAPH_NODE_TYPE_MEMCPY:
        return true;
      case CU_GRAPH_NODE_TYPE_GRAPH:
        return may_be_body(*std::get<ChildGraphWork>(node->work).graph);
      case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
        const auto& bodies = std::get<ConditionalWork>(node->work).bodies;
        return std::all_of(bodies.begin(), bodies.end(),
                           [](const auto& body) { return may_be_body(*body); });
      }
      default:
        return false;
    }
  });
}

CUresult issue_conditional(const std::shared_ptr<ConditionalExec>& node, const Stream& lane,
                           std::shared_ptr<Stream> body_stream, const IssueMode& mode) {
  auto run = std::make_shared<Run>();
  run->node = node;
  run->stream = std::move(body_stream);
  run->mode = mode;
  run->number = ++node->runs;
  SIM_TRY(issue(lane, run->as_work(), mode));
  BatchWork until_over;
  until_over.operations.push_back(
      {true, node->done->address(), run->number, 8, simdevice::WaitCompare::kGeq});
  return issue(lane, until_over, mode);
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* out, CUgraph graph_handle,
                                        CUcontext context_handle, unsigned default_value,
                                        unsigned flags) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Context> context;
  SIM_TRY(find_graph(graph_handle, graph));
  if (out == nullptr || (flags & ~unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT}) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  SIM_TRY(context_or_current(context_handle, context));
  auto conditional = std::make_shared<Conditional>();
  SIM_TRY(take_device_word(*context, conditional->value));
  conditional->default_value = default_value;
  conditional->assign_default = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0;
  conditional->context_id = context->id();
  *out = conditional->value->address();
  conditionals()[*out] = conditional;
  graph->conditionals.push_back(std::move(conditional));
  return CUDA_SUCCESS;
}
