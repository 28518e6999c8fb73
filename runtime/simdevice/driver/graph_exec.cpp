// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/graph_exec.h"

#include "runtime/simdevice/driver/conditional.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/graph_memory.h"
#include "runtime/simdevice/driver/submit.h"

namespace gacer::simdriver {
namespace {

std::vector<size_t> positions_of(const std::vector<GraphNode*>& nodes,
                                 const std::unordered_map<const GraphNode*, size_t>& position) {
  std::vector<size_t> result;
  result.reserve(nodes.size());
  for (const GraphNode* node : nodes) result.push_back(position.at(node));
  return result;
}

CUresult add_conditional(const ConditionalWork& work, GraphExec::Node& added,
                         const GraphNode*& bad) {
  auto conditional = std::make_shared<ConditionalExec>();
  conditional->conditional = work.conditional;
  conditional->type = work.type;
  std::shared_ptr<Context> context;
  SIM_TRY(context_with_id(work.conditional->context_id, context));
  SIM_TRY(take_device_word(*context, conditional->done));
  for (const auto& body : work.bodies) {
    if (!may_be_body(*body)) return CUDA_ERROR_NOT_SUPPORTED;
    conditional->bodies.emplace_back();
    SIM_TRY(instantiate(*body, conditional->bodies.back(), bad));
  }
  added.conditional = std::move(conditional);
  return CUDA_SUCCESS;
}

CUresult add_node(const GraphNode& node, GraphExec& exec, const GraphNode*& bad) {
  GraphExec::Node added{node.type(),  EmptyWork{}, positions_of(node.dependencies, exec.position),
                        node.enabled, {},          {}};
  if (const auto* child = std::get_if<ChildGraphWork>(&node.work)) {
    SIM_TRY(instantiate(*child->graph, added.child, bad));
  } else if (const auto* condition = std::get_if<ConditionalWork>(&node.work)) {
    bad = &node;
    SIM_TRY(add_conditional(*condition, added, bad));
    bad = nullptr;
  } else {
    added.work = node.work;
  }
  exec.position[&node] = exec.nodes.size();
  exec.nodes.push_back(std::move(added));
  return CUDA_SUCCESS;
}

bool same_function(const Work& a, const Work& b) {
  const auto* first = std::get_if<KernelWork>(&a);
  const auto* second = std::get_if<KernelWork>(&b);
  return first == nullptr || second == nullptr || first->cooperative == second->cooperative;
}

const GraphMemory* memory_of(const Work& work) {
  if (const auto* alloc = std::get_if<MemAllocWork>(&work)) return alloc->memory.get();
  if (const auto* free = std::get_if<MemFreeWork>(&work)) return free->memory.get();
  return nullptr;
}

bool same_memory(const Work& a, const Work& b) {
  return memory_of(a) == memory_of(b);
}

struct Pairing {
  std::vector<const GraphNode*>
      order;  // of the new graph; order[i] takes the place of exec.nodes[i]
  std::unordered_map<const GraphNode*, size_t> position;
};

CUgraphExecUpdateResult compare_node(const GraphExec::Node& old, const GraphNode& node,
                                     const Pairing& pairing) {
  if (old.type != node.type()) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  if (old.dependencies != positions_of(node.dependencies, pairing.position))
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  if (const auto* condition = std::get_if<ConditionalWork>(&node.work))
    if (condition->type != old.conditional->type ||
        condition->bodies.size() != old.conditional->bodies.size())
      return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  const bool own_memory =
      node.type() == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node.type() == CU_GRAPH_NODE_TYPE_MEM_FREE;
  if (own_memory && !same_memory(old.work, node.work))
    return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  return same_function(old.work, node.work)
             ? CU_GRAPH_EXEC_UPDATE_SUCCESS
             : CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
}

CUgraphExecUpdateResult pair_nodes(const GraphExec& exec, const Graph& graph, Pairing& pairing,
                                   const GraphNode*& bad) {
  const auto order = graph.topological_order();
  if (order.size() != exec.nodes.size() || graph.nodes.size() != order.size())
    return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (GraphNode* node : order) {
    pairing.position[node] = pairing.order.size();
    pairing.order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    bad = order[i];
    const auto result = compare_node(exec.nodes[i], *order[i], pairing);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
  }
  bad = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

GraphExec::Node* GraphExec::find(const GraphNode* node) {
  const auto found = position.find(node);
  return found == position.end() ? nullptr : &nodes[found->second];
}

CUresult instantiate(const Graph& graph, std::shared_ptr<GraphExec>& out, const GraphNode*& bad) {
  const auto order = graph.topological_order();
  if (order.size() != graph.nodes.size()) {
    bad = graph.nodes.back().get();
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto exec = std::make_shared<GraphExec>();
  for (const GraphNode* node : order) SIM_TRY(add_node(*node, *exec, bad));
  exec->user_objects = graph.user_objects;
  for (const auto& conditional : graph.conditionals)
    if (conditional->assign_default) exec->defaults.push_back(conditional);
  out = std::move(exec);
  return CUDA_SUCCESS;
}

static Work conditional_work_of(const ConditionalExec& exec) {
  ConditionalWork work{exec.conditional, exec.type, {}, std::make_shared<std::vector<CUgraph>>()};
  for (const auto& body : exec.bodies) {
    work.bodies.push_back(graph_of(*body));
    work.handles->push_back(reinterpret_cast<CUgraph>(work.bodies.back().get()));
  }
  return work;
}

std::shared_ptr<Graph> graph_of(GraphExec& exec) {
  const std::lock_guard lock(exec.mutex);
  auto graph = std::make_shared<Graph>();
  for (const GraphExec::Node& node : exec.nodes) {
    std::vector<GraphNode*> before;
    for (const size_t dependency : node.dependencies)
      before.push_back(graph->nodes[dependency].get());
    Work work = node.child != nullptr         ? Work(ChildGraphWork{graph_of(*node.child)})
                : node.conditional != nullptr ? conditional_work_of(*node.conditional)
                                              : node.work;
    graph->add(node.enabled ? std::move(work) : Work(EmptyWork{}), before);
  }
  return graph;
}

static CUgraphExecUpdateResult update_node(GraphExec::Node& node, const Work& work,
                                           const GraphNode*& bad) {
  if (const auto* child = std::get_if<ChildGraphWork>(&work))
    return update_exec(*node.child, *child->graph, bad);
  const auto* condition = std::get_if<ConditionalWork>(&work);
  if (condition == nullptr) {
    node.work = work;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
  node.conditional->conditional = condition->conditional;
  for (size_t i = 0; i < condition->bodies.size(); ++i) {
    const auto inner = update_exec(*node.conditional->bodies[i], *condition->bodies[i], bad);
    if (inner != CU_GRAPH_EXEC_UPDATE_SUCCESS) return inner;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUgraphExecUpdateResult update_exec(GraphExec& exec, const Graph& graph, const GraphNode*& bad) {
  const std::lock_guard lock(exec.mutex);
  Pairing pairing;
  const auto result = pair_nodes(exec, graph, pairing, bad);
  if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    const auto updated = update_node(exec.nodes[i], pairing.order[i]->work, bad);
    if (updated != CU_GRAPH_EXEC_UPDATE_SUCCESS) return updated;
  }
  exec.plan.reset();
  exec.user_objects = graph.user_objects;
  exec.position = std::move(pairing.position);
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace gacer::simdriver
