// SPDX-License-Identifier: Apache-2.0
#include "interpose/graph_costs.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace gacer::interpose {

struct GraphRecord {
  NodeList nodes;
  GraphCost cost;
  bool summed = false;    // `cost` is of the nodes as they are
  uint32_t launches = 0;  // since then
};

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
// The kernels' measured costs change while the daemon learns; the sum follows at some launches.
constexpr uint32_t kLaunchesBetweenSums = 64;

uint32_t node_ns(const NodeCost& node, const abi::CostTable* costs) {
  const bool has_slot = costs != nullptr && node.cost_slot < abi::kCostSlots;
  const uint32_t told_ns = has_slot ? costs->cost_ns[node.cost_slot].load(kRelaxed) : 0;
  return told_ns != 0 ? told_ns : node.guess_ns;
}

// Id and cost; the slot is another matter.
void sum_up(GraphRecord& record, const abi::CostTable* costs) {
  uint64_t id = record.nodes.rest_id();
  uint64_t sum_ns = record.nodes.rest_ns();
  for (const NodeCost& node : record.nodes) {
    if (!node.enabled) continue;
    id += node.id;
    sum_ns += node_ns(node, costs);
  }
  record.cost.id = mix_bits(id ^ 0x67726170) | 1;  // an empty graph has an identity too
  record.cost.guess_ns =
      static_cast<uint32_t>(std::clamp<uint64_t>(sum_ns, kSmallNodeNs, kMostGraphNs));
  record.cost.inexact = record.nodes.inexact;
  record.summed = true;
}

bool is_told(const GraphCost& cost, const abi::CostTable* costs) {
  return costs != nullptr && cost.cost_slot < abi::kCostSlots &&
         costs->cost_ns[cost.cost_slot].load(kRelaxed) != 0;
}

GraphRecord* new_record() {
  return new (std::nothrow) GraphRecord;
}

// Nodes of an update take over what belongs to the exec's own: by place, since the driver has found
// both graphs to be of one form.
void keep_handles(NodeList& to, const NodeList& from) {
  if (to.size() != from.size()) return;
  const NodeCost* old = from.begin();
  for (NodeCost& node : to) {
    node.node = old->node;
    node.root = old->root;
    node.enabled = old->enabled;
    ++old;
  }
}

}  // namespace

NodeList GraphCosts::list(CUgraph graph, CUgraphNode root, const DeviceFacts& device) {
  NodeList nodes;
  const NodePricing pricing{kernels_, conditionals_, device};
  list_nodes(graph, root, pricing, nodes);
  return nodes;
}

// Caller holds lock_.
GraphRecord* GraphCosts::find_record(uint64_t exec) {
  const uint64_t* found = records_.find(exec);
  return found == nullptr ? nullptr : reinterpret_cast<GraphRecord*>(*found);
}

// NULL: forget the exec. A handle may have belonged to an exec that ended unseen.
void GraphCosts::replace(CUgraphExec exec, GraphRecord* record) {
  const auto key = reinterpret_cast<uint64_t>(exec);
  uint64_t old = 0;
  bool kept = false;
  {
    const SpinGuard guard(lock_);
    records_.take(key, old);
    kept = record != nullptr && records_.set(key, reinterpret_cast<uint64_t>(record));
  }
  delete reinterpret_cast<GraphRecord*>(old);
  if (!kept) delete record;
}

void GraphCosts::instantiated(CUgraphExec exec, CUgraph graph, const DeviceFacts& device) {
  GraphRecord* record = new_record();
  if (record != nullptr) record->nodes = list(graph, nullptr, device);
  replace(exec, record);
}

void GraphCosts::updated(CUgraphExec exec, CUgraph graph, const DeviceFacts& device) {
  NodeList nodes = list(graph, nullptr, device);
  const SpinGuard guard(lock_);
  GraphRecord* record = find_record(reinterpret_cast<uint64_t>(exec));
  if (record == nullptr) return;
  keep_handles(nodes, record->nodes);
  std::swap(record->nodes, nodes);
  record->summed = false;
}

void GraphCosts::destroyed(CUgraphExec exec) {
  replace(exec, nullptr);
}

void GraphCosts::child_set(CUgraphExec exec, CUgraphNode node, CUgraph child,
                           const DeviceFacts& device) {
  NodeList nodes = list(child, node, device);
  const SpinGuard guard(lock_);
  GraphRecord* record = find_record(reinterpret_cast<uint64_t>(exec));
  if (record == nullptr) return;
  record->nodes.remove_below(node);
  for (const NodeCost& each : nodes) record->nodes.add(each);
  record->summed = false;
}

void GraphCosts::enabled_set(CUgraphExec exec, CUgraphNode node, bool enabled) {
  const SpinGuard guard(lock_);
  GraphRecord* record = find_record(reinterpret_cast<uint64_t>(exec));
  NodeCost* const found = record == nullptr ? nullptr : record->nodes.find(node);
  if (found == nullptr) return;
  found->enabled = enabled;
  record->summed = false;
}

void GraphCosts::set_cost(CUgraphExec exec, CUgraphNode node, const NodeCost& cost) {
  const SpinGuard guard(lock_);
  GraphRecord* record = find_record(reinterpret_cast<uint64_t>(exec));
  NodeCost* const found = record == nullptr ? nullptr : record->nodes.find(node);
  if (found == nullptr) return;
  // Mostly only arguments change, which no cost depends on.
  if (found->id == cost.id && found->guess_ns == cost.guess_ns) return;
  found->id = cost.id;
  found->cost_slot = cost.cost_slot;
  found->guess_ns = cost.guess_ns;
  record->summed = false;
}

// Caller holds lock_. True: `record.cost` is up to date.
bool GraphCosts::refresh(GraphRecord& record, const abi::CostTable* costs) {
  if (record.summed && (is_told(record.cost, costs) || ++record.launches < kLaunchesBetweenSums))
    return true;
  const bool new_nodes = !record.summed;
  record.launches = 0;
  sum_up(record, costs);
  if (!new_nodes) return true;
  const uint64_t* slot = slots_.find(record.cost.id);
  record.cost.cost_slot = slot != nullptr ? static_cast<uint32_t>(*slot) : abi::kNoCostSlot;
  return slot != nullptr || slots_.size() == kMostGraphSlots;
}

GraphCost GraphCosts::find(uint64_t exec, const abi::CostTable* costs) {
  GraphCost cost;
  {
    const SpinGuard guard(lock_);
    GraphRecord* record = find_record(exec);
    if (record == nullptr) return cost;
    const bool complete = refresh(*record, costs);
    cost = record->cost;
    if (complete) return cost;
  }
  // The graph takes a cost slot of its own, as a kernel of that identity would.
  cost.cost_slot = kernels_.slot_of_graph(cost.id, cost.guess_ns);
  const SpinGuard guard(lock_);
  slots_.set(cost.id, cost.cost_slot);
  GraphRecord* record = find_record(exec);
  if (record != nullptr && record->cost.id == cost.id) record->cost.cost_slot = cost.cost_slot;
  return cost;
}

void GraphCosts::forget_all() {
  uint64_t record = 0;
  while (records_.take_any(record)) delete reinterpret_cast<GraphRecord*>(record);
  reset();
}

void GraphCosts::reset() {
  lock_.unlock();
  records_.clear();  // the records themselves stay: another thread may have held them at the fork
  slots_.clear();
  conditionals_.reset();
}

}  // namespace gacer::interpose
