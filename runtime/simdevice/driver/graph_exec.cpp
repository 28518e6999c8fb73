// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/graph_exec.h"

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

CUresult add_node(const GraphNode& node, GraphExec& exec, const GraphNode*& bad) {
  GraphExec::Node added{
      node.type(), EmptyWork{}, positions_of(node.dependencies, exec.position), node.enabled, {}};
  if (const auto* child = std::get_if<ChildGraphWork>(&node.work)) {
    SIM_TRY(instantiate(*child->graph, added.child, bad));
  } else {
    added.work = node.work;
  }
  exec.position[&node] = exec.nodes.size();
  exec.nodes.push_back(std::move(added));
  return CUDA_SUCCESS;
}

// Launches of one exec never overlap: the new one waits for the other stream.
CUresult order_after_last(GraphExec& exec, const std::shared_ptr<Stream>& stream) {
  const std::shared_ptr<Stream> last = exec.last_stream.lock();
  exec.last_stream = stream;
  if (last == nullptr || last == stream) return CUDA_SUCCESS;
  Driver& driver = Driver::get();
  if (driver.link().stream_done(last->counter->id, last->last_seq())) return CUDA_SUCCESS;
  auto event = std::make_shared<Event>();
  if (!driver.event_ids.take(driver.link(), event->id, event->generation))
    return synchronize_stream(*last);
  CUresult status = issue(*last, EventRecordWork{event}, true);
  if (status == CUDA_SUCCESS) status = issue(*stream, EventWaitWork{event}, true);
  driver.event_ids.retire(event->id, event->generation);
  return status;
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

CUresult issue_nodes(const GraphExec& exec, const Stream& stream) {
  for (const GraphExec::Node& node : exec.nodes) {
    if (!node.enabled) continue;
    SIM_TRY(node.child != nullptr ? issue_nodes(*node.child, stream)
                                  : issue(stream, node.work, true));
  }
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
  out = std::move(exec);
  return CUDA_SUCCESS;
}

std::shared_ptr<Graph> graph_of(GraphExec& exec) {
  const std::lock_guard lock(exec.mutex);
  auto graph = std::make_shared<Graph>();
  for (const GraphExec::Node& node : exec.nodes) {
    std::vector<GraphNode*> before;
    for (const size_t dependency : node.dependencies)
      before.push_back(graph->nodes[dependency].get());
    Work work = node.child != nullptr ? Work(ChildGraphWork{graph_of(*node.child)}) : node.work;
    graph->add(node.enabled ? std::move(work) : Work(EmptyWork{}), before);
  }
  return graph;
}

CUgraphExecUpdateResult update_exec(GraphExec& exec, const Graph& graph, const GraphNode*& bad) {
  const std::lock_guard lock(exec.mutex);
  Pairing pairing;
  const auto result = pair_nodes(exec, graph, pairing, bad);
  if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    const auto* child = std::get_if<ChildGraphWork>(&pairing.order[i]->work);
    if (child == nullptr) {
      exec.nodes[i].work = pairing.order[i]->work;
      continue;
    }
    const auto inner = update_exec(*exec.nodes[i].child, *child->graph, bad);
    if (inner != CU_GRAPH_EXEC_UPDATE_SUCCESS) return inner;
  }
  exec.position = std::move(pairing.position);
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult launch_exec(GraphExec& exec, const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(exec.mutex);
  SIM_TRY(prepare_memory(exec));
  SIM_TRY(order_after_last(exec, stream));
  const CUresult issued = issue_nodes(exec, *stream);
  note_memory_use(exec, *stream);
  return issued;
}

}  // namespace gacer::simdriver
