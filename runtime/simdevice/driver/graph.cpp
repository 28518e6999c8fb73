// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/graph.h"

#include <algorithm>
#include <set>

namespace gacer::simdriver {
namespace {

bool contains(const std::vector<GraphNode*>& list, const GraphNode* node) {
  return std::find(list.begin(), list.end(), node) != list.end();
}

Work clone_work(const Work& work) {
  if (const auto* child = std::get_if<ChildGraphWork>(&work))
    return ChildGraphWork{child->graph->clone()};
  if (const auto* condition = std::get_if<ConditionalWork>(&work)) {
    ConditionalWork copy{
        condition->conditional, condition->type, {}, std::make_shared<std::vector<CUgraph>>()};
    for (const auto& body : condition->bodies) {
      copy.bodies.push_back(body->clone());
      copy.handles->push_back(reinterpret_cast<CUgraph>(copy.bodies.back().get()));
    }
    return copy;
  }
  return work;
}

}  // namespace

std::recursive_mutex& graph_lock() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;
  return mutex;
}

CUgraphNodeType GraphNode::type() const {
  struct Namer {
    CUgraphNodeType operator()(const EmptyWork&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
    CUgraphNodeType operator()(const KernelWork&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
    CUgraphNodeType operator()(const CopyWork&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
    CUgraphNodeType operator()(const MemsetWork&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
    CUgraphNodeType operator()(const HostWork&) const { return CU_GRAPH_NODE_TYPE_HOST; }
    CUgraphNodeType operator()(const EventRecordWork&) const {
      return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    }
    CUgraphNodeType operator()(const EventWaitWork&) const { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }
    CUgraphNodeType operator()(const BatchWork&) const { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }
    CUgraphNodeType operator()(const ChildGraphWork&) const { return CU_GRAPH_NODE_TYPE_GRAPH; }
    CUgraphNodeType operator()(const MemAllocWork&) const { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; }
    CUgraphNodeType operator()(const MemFreeWork&) const { return CU_GRAPH_NODE_TYPE_MEM_FREE; }
    CUgraphNodeType operator()(const ConditionalWork&) const {
      return CU_GRAPH_NODE_TYPE_CONDITIONAL;
    }
  };
  return std::visit(Namer{}, work);
}

GraphNode* Graph::add(Work work, const std::vector<GraphNode*>& dependencies) {
  for (const GraphNode* dependency : dependencies) {
    const auto times = std::count(dependencies.begin(), dependencies.end(), dependency);
    if (times != 1 || !owns(dependency)) return nullptr;
  }
  auto node = std::make_shared<GraphNode>();
  node->graph = this;
  node->work = std::move(work);
  for (GraphNode* dependency : dependencies) connect(*dependency, *node);
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

bool Graph::owns(const GraphNode* node) const {
  return node != nullptr && node->graph == this;
}

bool Graph::connect(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data) {
  if (contains(to.dependencies, &from)) return false;
  to.dependencies.push_back(&from);
  to.edge_data.push_back(data);
  from.dependents.push_back(&to);
  return true;
}

bool Graph::disconnect(GraphNode& from, GraphNode& to) {
  const auto found = std::find(to.dependencies.begin(), to.dependencies.end(), &from);
  if (found == to.dependencies.end()) return false;
  to.edge_data.erase(to.edge_data.begin() + (found - to.dependencies.begin()));
  to.dependencies.erase(found);
  std::erase(from.dependents, &to);
  return true;
}

void Graph::remove(GraphNode& node) {
  while (!node.dependencies.empty()) disconnect(*node.dependencies.back(), node);
  while (!node.dependents.empty()) disconnect(node, *node.dependents.back());
  std::erase_if(nodes, [&](const auto& owned) { return owned.get() == &node; });
}

CUgraphEdgeData Graph::edge_data(const GraphNode& from, const GraphNode& to) {
  const auto found = std::find(to.dependencies.begin(), to.dependencies.end(), &from);
  return to.edge_data[static_cast<size_t>(found - to.dependencies.begin())];
}

std::vector<std::pair<GraphNode*, GraphNode*>> Graph::edges() const {
  std::vector<std::pair<GraphNode*, GraphNode*>> all;
  for (const auto& node : nodes)
    for (GraphNode* dependency : node->dependencies) all.emplace_back(dependency, node.get());
  return all;
}

std::vector<GraphNode*> Graph::roots() const {
  std::vector<GraphNode*> found;
  for (const auto& node : nodes)
    if (node->dependencies.empty()) found.push_back(node.get());
  return found;
}

std::vector<GraphNode*> Graph::topological_order() const {
  std::unordered_map<const GraphNode*, size_t> position;
  std::vector<size_t> missing;
  std::set<size_t> ready;  // by position, so that ties go in the order of addition
  for (size_t i = 0; i < nodes.size(); ++i) {
    position[nodes[i].get()] = i;
    missing.push_back(nodes[i]->dependencies.size());
    if (missing.back() == 0) ready.insert(i);
  }
  std::vector<GraphNode*> order;
  while (!ready.empty()) {
    const size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(nodes[next].get());
    for (const GraphNode* dependent : nodes[next]->dependents)
      if (--missing[position[dependent]] == 0) ready.insert(position[dependent]);
  }
  return order;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  for (const auto& node : nodes) {
    GraphNode* added = copy->add(clone_work(node->work), {});
    added->enabled = node->enabled;
    copy->clone_of[node.get()] = added;
  }
  for (const auto& [from, to] : edges())
    connect(*copy->clone_of[from], *copy->clone_of[to], edge_data(*from, *to));
  copy->conditionals = conditionals;
  copy->user_objects = user_objects;
  return copy;
}

}  // namespace gacer::simdriver
