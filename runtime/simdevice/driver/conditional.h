// SPDX-License-Identifier: Apache-2.0
// Conditional graph nodes. A handle is the address of its value, which kernels write with
// cudaGraphSetConditional (../exec/builtins.cpp). The choice of a body is made in this process when
// the stream has come to the node: it costs about what a host function costs.
#pragma once

#include <memory>
#include <vector>

#include "runtime/simdevice/driver/device_words.h"
#include "runtime/simdevice/driver/graph.h"
#include "runtime/simdevice/driver/graph_exec.h"

namespace gacer::simdriver {

struct Conditional {
  std::shared_ptr<DeviceWord> value;
  unsigned default_value = 0;
  bool assign_default = false;
  uint32_t context_id = 0;
  bool has_node = false;  // guarded by graph_lock()
};

// nullptr: no such handle. Under graph_lock().
std::shared_ptr<Conditional> find_conditional(CUgraphConditionalHandle handle);

// The work of a node; fills params.phGraph_out, whose array lives as long as the node.
CUresult make_conditional(CUDA_CONDITIONAL_NODE_PARAMS& params, Work& out);

// Whether the graph may be the body of a conditional node.
bool may_be_body(const Graph& graph);

// A conditional node of an executable graph.
struct ConditionalExec {
  std::shared_ptr<Conditional> conditional;
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::shared_ptr<GraphExec>> bodies;
  std::shared_ptr<DeviceWord> done;  // counts the runs of this node that are over
  uint64_t runs = 0;                 // guarded by the lock of its GraphExec
};

// Issues the node into `lane`; bodies run in `body_stream`.
CUresult issue_conditional(const std::shared_ptr<ConditionalExec>& node, const Stream& lane,
                           std::shared_ptr<Stream> body_stream, const IssueMode& mode);

}  // namespace gacer::simdriver
