// SPDX-License-Identifier: Apache-2.0
// Steps of captures and graphs.
#include "tests/property/world.h"

namespace gacer::property {
namespace {

template <typename T>
uint64_t value(T handle) {
  return reinterpret_cast<uint64_t>(handle);
}

struct KernelNode {
  KernelNode(const World& w, const Step& step)
      : to(w.address(step.a[2])), bytes(1 + step.a[3] % 32) {
    if (step.a[4] % 4 == 0)
      params.kern = w.v.kernels[step.a[1] % 3];
    else
      params.func = w.v.functions[step.a[1] % 4];
    params.gridDimX = 1 + step.a[4] / 4 % 100;
    params.blockDimX = 64;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = list;
  }
  uint64_t to;
  uint64_t bytes;
  void* list[2] = {&to, &bytes};
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
};

void begin_capture(World& w, const Step& step) {
  const auto mode = static_cast<CUstreamCaptureMode>(step.a[1] % 3);
  GACER_CALL_PTSZ(cuStreamBeginCapture_v2, w.stream(step.a[0]), mode);
}
void end_capture(World& w, const Step& step) {
  CUgraph& graph = w.v.graphs[step.a[1] % 3];
  GACER_CALL_PTSZ(cuStreamEndCapture, w.stream(step.a[0]), &graph);
  w.saw(value(graph));
}
void is_capturing(World& w, const Step& step) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  GACER_CALL_PTSZ(cuStreamIsCapturing, w.stream(step.a[0]), &status);
  w.saw(status);
}
void exchange_mode(World& w, const Step& step) {
  auto mode = static_cast<CUstreamCaptureMode>(step.a[0] % 3);
  GACER_CALL(cuThreadExchangeStreamCaptureMode, &mode);
  w.saw(mode);
}
void graph_create(World& w, const Step& step) {
  CUgraph& graph = w.v.graphs[step.a[0] % 3];
  GACER_CALL(cuGraphCreate, &graph, 0);
  w.saw(value(graph));
}
void graph_destroy(World& w, const Step& step) {
  GACER_CALL(cuGraphDestroy, w.v.graphs[step.a[0] % 3]);
  w.gone(w.v.graphs[step.a[0] % 3]);
}
void add_kernel(World& w, const Step& step) {
  KernelNode node(w, step);
  CUgraphNode& out = w.v.nodes[step.a[5] % 4];
  GACER_CALL(cuGraphAddKernelNode_v2, &out, w.v.graphs[step.a[0] % 3], nullptr, 0, &node.params);
  w.saw(value(out));
}
void add_memset(World& w, const Step& step) {
  CUDA_MEMSET_NODE_PARAMS params{};
  params.dst = w.address(step.a[2]);
  params.value = step.a[3] % 256;
  params.elementSize = 1;
  params.width = 1 + step.a[3] % 32;
  params.height = 1;
  CUgraphNode& out = w.v.nodes[step.a[5] % 4];
  GACER_CALL(cuGraphAddMemsetNode, &out, w.v.graphs[step.a[0] % 3], nullptr, 0, &params,
             w.v.contexts[step.a[4] % 3]);
  w.saw(value(out));
}
void add_child(World& w, const Step& step) {
  CUgraphNode& out = w.v.nodes[step.a[5] % 4];
  GACER_CALL(cuGraphAddChildGraphNode, &out, w.v.graphs[step.a[0] % 3], nullptr, 0,
             w.v.graphs[step.a[1] % 3]);
  w.saw(value(out));
}
void set_kernel(World& w, const Step& step) {
  KernelNode node(w, step);
  GACER_CALL(cuGraphKernelNodeSetParams_v2, w.v.nodes[step.a[0] % 4], &node.params);
}
void get_kernel(World& w, const Step& step) {
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  GACER_CALL(cuGraphKernelNodeGetParams_v2, w.v.nodes[step.a[0] % 4], &params);
  w.saw(value(params.func));
  w.saw(params.gridDimX);
}
void get_nodes(World& w, const Step& step) {
  CUgraphNode nodes[4] = {};
  size_t count = 4;
  GACER_CALL(cuGraphGetNodes, w.v.graphs[step.a[0] % 3], step.a[1] % 2 == 0 ? nodes : nullptr,
             &count);
  w.saw(count);
  for (const CUgraphNode node : nodes) w.saw(value(node));
}
void instantiate(World& w, const Step& step) {
  CUgraphExec& exec = w.v.execs[step.a[0] % 3];
  const CUgraph graph = w.v.graphs[step.a[1] % 3];
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  if (step.a[2] % 4 == 0)
    GACER_CALL_PTSZ(cuGraphInstantiateWithParams, &exec, graph, &params);
  else
    GACER_CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
  w.saw(value(exec));
}
void exec_update(World& w, const Step& step) {
  CUgraphExecUpdateResultInfo info{};
  GACER_CALL(cuGraphExecUpdate_v2, w.v.execs[step.a[0] % 3], w.v.graphs[step.a[1] % 3], &info);
  w.saw(info.result);
}
void exec_set_kernel(World& w, const Step& step) {
  KernelNode node(w, step);
  GACER_CALL(cuGraphExecKernelNodeSetParams_v2, w.v.execs[step.a[0] % 3], w.v.nodes[step.a[5] % 4],
             &node.params);
}
void exec_destroy(World& w, const Step& step) {
  GACER_CALL(cuGraphExecDestroy, w.v.execs[step.a[0] % 3]);
  w.gone(w.v.execs[step.a[0] % 3]);
}
void graph_launch(World& w, const Step& step) {
  GACER_CALL_PTSZ(cuGraphLaunch, w.v.execs[step.a[1] % 3], w.stream(step.a[0]));
}

}  // namespace

std::vector<StepKind> graph_steps() {
  return {
      {"cuStreamBeginCapture", 12, false, &begin_capture},
      {"cuStreamEndCapture", 24, false, &end_capture},
      {"cuStreamIsCapturing", 3, false, &is_capturing},
      {"cuThreadExchangeStreamCaptureMode", 2, false, &exchange_mode},
      {"cuGraphCreate", 6, true, &graph_create},
      {"cuGraphDestroy", 4, true, &graph_destroy},
      {"cuGraphAddKernelNode", 10, true, &add_kernel},
      {"cuGraphAddMemsetNode", 3, true, &add_memset},
      {"cuGraphAddChildGraphNode", 3, true, &add_child},
      {"cuGraphKernelNodeSetParams", 2, true, &set_kernel},
      {"cuGraphKernelNodeGetParams", 1, true, &get_kernel},
      {"cuGraphGetNodes", 2, true, &get_nodes},
      {"cuGraphInstantiate", 10, true, &instantiate},
      {"cuGraphExecUpdate", 4, true, &exec_update},
      {"cuGraphExecKernelNodeSetParams", 2, true, &exec_set_kernel},
      {"cuGraphExecDestroy", 4, true, &exec_destroy},
      {"cuGraphLaunch", 16, true, &graph_launch},
  };
}

}  // namespace gacer::property
