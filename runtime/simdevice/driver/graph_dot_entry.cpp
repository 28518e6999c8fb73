// SPDX-License-Identifier: Apache-2.0
// cuGraphDebugDotPrint: a graph in the language of Graphviz.
#include <fstream>
#include <sstream>

#include "runtime/simdevice/driver/graph_handles.h"
#include "runtime/simdevice/driver/module.h"

using namespace gacer::simdriver;

namespace {

const char* type_name(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "GRAPH";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "EVENT_WAIT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "BATCH_MEM_OP";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return "CONDITIONAL";
    default:
      return "EMPTY";
  }
}

// Verbose output also says what the most common nodes do.
std::string details(const GraphNode& node) {
  std::ostringstream text;
  if (const auto* kernel = std::get_if<KernelWork>(&node.work))
    text << "\\n"
         << kernel->function->info.name << "\\n<<<" << kernel->grid[0] << "," << kernel->grid[1]
         << "," << kernel->grid[2] << " " << kernel->block[0] << "," << kernel->block[1] << ","
         << kernel->block[2] << ">>>";
  if (const auto* copy = std::get_if<CopyWork>(&node.work))
    text << "\\n" << copy->width_bytes << " x " << copy->height << " x " << copy->depth << " B";
  if (const auto* memset = std::get_if<MemsetWork>(&node.work))
    text << "\\n"
         << memset->width_elements << " x " << memset->height << " of " << memset->element_bytes
         << " B";
  return text.str();
}

class DotPrinter {
 public:
  DotPrinter(std::ostream& out, bool verbose) : out_(out), verbose_(verbose) {}

  void print(const Graph& graph) {
    const size_t number = graphs_++;
    out_ << "subgraph cluster_" << number << " {\nlabel=\"graph_" << number << "\"\n";
    for (const auto& node : graph.nodes) print_node(*node);
    for (const auto& [from, to] : graph.edges())
      out_ << name(*from) << " -> " << name(*to) << ";\n";
    out_ << "}\n";
    for (const auto& node : graph.nodes) print_inner(*node);
  }

 private:
  static std::string name(const GraphNode& node) {
    std::ostringstream text;
    text << "\"node_" << &node << "\"";
    return text.str();
  }
  void print_node(const GraphNode& node) {
    out_ << name(node) << " [shape=box label=\"" << type_name(node.type())
         << (verbose_ ? details(node) : std::string()) << "\"];\n";
  }
  void print_inner(const GraphNode& node) {
    if (const auto* child = std::get_if<ChildGraphWork>(&node.work)) print(*child->graph);
    if (const auto* condition = std::get_if<ConditionalWork>(&node.work))
      for (const auto& body : condition->bodies) print(*body);
  }

  std::ostream& out_;
  const bool verbose_;
  size_t graphs_ = 0;
};

}  // namespace

CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned flags) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  SIM_TRY(find_graph(handle, graph));
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ofstream file(path);
  if (!file) return CUDA_ERROR_OPERATING_SYSTEM;
  file << "digraph dot {\n";
  DotPrinter(file, flags != 0).print(*graph);
  file << "}\n";
  return file.good() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
