// SPDX-License-Identifier: Apache-2.0
// Graphs: branches, conditional nodes, edges with data, user objects, printing. Rules: CUDA Driver
// API 13.0, "Graph Management".
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/integration/simdriver/sim_fixture.h"

namespace gacer::simdriver {
namespace {

// What nvcc makes of `cudaGraphSetConditional(handle, *counter < limit)`, counting up.
const char* const kConditionPtx = R"(
.version 8.0
.target sm_70
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry count_below(.param .u64 handle, .param .u64 counter, .param .u32 limit)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [handle];
  ld.param.u64 %rd2, [counter];
  ld.param.u32 %r1, [limit];
  ld.global.u32 %r2, [%rd2];
  add.u32 %r3, %r2, 1;
  st.global.u32 [%rd2], %r3;
  setp.lt.u32 %p, %r3, %r1;
  selp.u32 %r4, 1, 0, %p;
  {
    .param .b64 p0; st.param.b64 [p0+0], %rd1;
    .param .b32 p1; st.param.b32 [p1+0], %r4;
    call.uni cudaGraphSetConditional, (p0, p1);
  }
  ret;
}
.visible .entry set_value(.param .u64 handle, .param .u32 value)
{
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [handle];
  ld.param.u32 %r1, [value];
  {
    .param .b64 p0; st.param.b64 [p0+0], %rd1;
    .param .b32 p1; st.param.b32 [p1+0], %r1;
    call.uni cudaGraphSetConditional, (p0, p1);
  }
  ret;
}
)";

class GraphRulesTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    CU_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CU_OK(cuGraphCreate(&graph_, 0));
  }
  CUgraphNode add_kernel(CUgraph graph, std::vector<CUgraphNode> dependencies, CUfunction function,
                         void** params, unsigned threads = 1) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = function;
    node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
    node.blockDimX = threads;
    node.kernelParams = params;
    CUgraphNode added = nullptr;
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphAddKernelNode(&added, graph, dependencies.data(), dependencies.size(), &node));
    return added;
  }
  CUgraphNode add_spin(std::vector<CUgraphNode> dependencies, unsigned turns) {
    void* params[] = {&turns};
    return add_kernel(graph_, std::move(dependencies), function("spin"), params);
  }
  CUgraphNode add_increment(CUgraph graph, std::vector<CUgraphNode> dependencies,
                            CUdeviceptr data) {
    unsigned n = 1;
    void* params[] = {&data, &n};
    return add_kernel(graph, std::move(dependencies), function("add_one"), params);
  }
  CUgraphNode add_empty(std::vector<CUgraphNode> dependencies = {}) {
    CUgraphNode added = nullptr;
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphAddEmptyNode(&added, graph_, dependencies.data(), dependencies.size()));
    return added;
  }
  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphInstantiate(&exec, graph_, 0));
    return exec;
  }
  // Model time of a launch. All is submitted before any of it starts, so that what this machine
  // does at the time plays no part.
  float launch_ms(CUgraphExec exec) {
    CUevent start = nullptr, end = nullptr;
    CUstream other = nullptr;
    float ms = 0;
    const CUdeviceptr gate = allocate_ints({0});
    EXPECT_EQ(CUDA_SUCCESS, cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamWaitValue32(stream_, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&start, 0));
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&end, 0));
    EXPECT_EQ(CUDA_SUCCESS, cuEventRecord(start, stream_));
    EXPECT_EQ(CUDA_SUCCESS, cuGraphLaunch(exec, stream_));
    EXPECT_EQ(CUDA_SUCCESS, cuEventRecord(end, stream_));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamWriteValue32(other, gate, 1, 0));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamSynchronize(stream_));
    EXPECT_EQ(CUDA_SUCCESS, cuEventElapsedTime(&ms, start, end));
    return ms;
  }
  void load_condition_kernels() {
    CU_OK(cuModuleLoadData(&conditions_, kConditionPtx));
    CU_OK(cuModuleGetFunction(&count_below_, conditions_, "count_below"));
    CU_OK(cuModuleGetFunction(&set_value_, conditions_, "set_value"));
  }
  // The bodies of a new conditional node.
  std::vector<CUgraph> add_conditional(CUgraphConditionalHandle handle,
                                       CUgraphConditionalNodeType type, unsigned size,
                                       std::vector<CUgraphNode> dependencies = {}) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    params.conditional.ctx = context_;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphAddNode(&conditional_, graph_, dependencies.data(), nullptr,
                                           dependencies.size(), &params));
    return {params.conditional.phGraph_out, params.conditional.phGraph_out + size};
  }
  CUgraphConditionalHandle make_handle(unsigned value, unsigned flags) {
    CUgraphConditionalHandle handle = 0;
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphConditionalHandleCreate(&handle, graph_, context_, value, flags));
    return handle;
  }
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  CUmodule conditions_ = nullptr;
  CUfunction count_below_ = nullptr, set_value_ = nullptr;
  CUgraphNode conditional_ = nullptr;
};

// cuGraphLaunch: "nodes run as soon as their dependencies are met"
TEST_F(GraphRulesTest, given_parallel_branches_then_they_overlap_and_a_chain_does_not) {
  CUgraphNode root = add_empty();
  std::vector<CUgraphNode> branches;
  for (int i = 0; i < 4; ++i) branches.push_back(add_spin({root}, 20000));
  add_empty(branches);
  const float wide = launch_ms(instantiate());
  CUgraph chain = nullptr;
  CU_OK(cuGraphCreate(&chain, 0));
  graph_ = chain;
  CUgraphNode last = add_spin({}, 20000);
  for (int i = 0; i < 3; ++i) last = add_spin({last}, 20000);
  const float deep = launch_ms(instantiate());
  EXPECT_GT(deep, 3 * wide);
}

TEST_F(GraphRulesTest, given_branches_that_meet_then_the_meeting_node_sees_all_of_them) {
  CUdeviceptr data = allocate_ints({0, 0, 0, 0});
  std::vector<CUgraphNode> ends;
  for (unsigned i = 0; i < 4; ++i)
    ends.push_back(add_increment(graph_, {add_spin({}, 1000 * (4 - i))}, data + 4 * i));
  unsigned n = 4;
  void* params[] = {&data, &n};
  add_kernel(graph_, ends, function("add_one"), params, 4);
  CUgraphExec exec = instantiate();
  for (int i = 0; i < 3; ++i) CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(add_one(data, 4, stream_));  // behind the graph
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 4), (std::vector<int>{7, 7, 7, 7}));
}

// "A launch is ordered in its stream": what is before it in the stream is before all its roots.
TEST_F(GraphRulesTest, given_work_before_the_launch_then_no_root_starts_before_it) {
  CUdeviceptr word = allocate_ints({0, 0, 0});
  add_increment(graph_, {}, word + 4);
  add_increment(graph_, {}, word + 8);
  CUgraphExec exec = instantiate();
  CUstream other = nullptr;
  CU_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_OK(cuStreamWaitValue32(stream_, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_OK(cuGraphLaunch(exec, stream_));
  std::vector<int> seen(3);
  CU_OK(cuMemcpyDtoHAsync(seen.data(), word, 12, other));
  CU_OK(cuStreamSynchronize(other));
  EXPECT_EQ(seen, (std::vector<int>{0, 0, 0}));
  CU_OK(cuStreamWriteValue32(other, word, 1, 0));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(word, 3), (std::vector<int>{1, 1, 1}));
}

// cuGraphAddNode, CUDA_CONDITIONAL_NODE_PARAMS: CU_GRAPH_COND_TYPE_IF
TEST_F(GraphRulesTest, given_an_if_with_else_then_the_value_chooses_the_body) {
  load_condition_kernels();
  CUdeviceptr data = allocate_ints({0, 0});
  const CUgraphConditionalHandle handle = make_handle(0, 0);
  CUgraphConditionalHandle value_of = handle;
  unsigned value = 1;
  void* params[] = {&value_of, &value};
  CUgraphNode setter = add_kernel(graph_, {}, set_value_, params);
  const auto bodies = add_conditional(handle, CU_GRAPH_COND_TYPE_IF, 2, {setter});
  add_increment(bodies[0], {}, data);
  add_increment(bodies[1], {}, data + 4);
  CUgraphExec exec = instantiate();
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 2), (std::vector<int>{1, 0}));
  value = 0;
  CUDA_KERNEL_NODE_PARAMS node{};
  CU_OK(cuGraphKernelNodeGetParams(setter, &node));
  node.kernelParams = params;
  CU_OK(cuGraphExecKernelNodeSetParams(exec, setter, &node));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 2), (std::vector<int>{1, 1}));
}

// CU_GRAPH_COND_TYPE_WHILE, CU_GRAPH_COND_ASSIGN_DEFAULT
TEST_F(GraphRulesTest, given_a_while_then_its_body_runs_until_the_device_says_stop) {
  load_condition_kernels();
  CUdeviceptr data = allocate_ints({0, 0});
  const CUgraphConditionalHandle handle = make_handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  const auto bodies = add_conditional(handle, CU_GRAPH_COND_TYPE_WHILE, 1);
  CUgraphConditionalHandle of = handle;
  unsigned limit = 5;
  void* params[] = {&of, &data, &limit};
  CUgraphNode counted = add_kernel(bodies[0], {}, count_below_, params);
  add_increment(bodies[0], {counted}, data + 4);
  add_increment(graph_, {conditional_}, data + 4);  // once, behind the loop
  CUgraphExec exec = instantiate();
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 2), (std::vector<int>{5, 6}));
  CU_OK(cuGraphLaunch(exec, stream_));  // the default value lets it run once more
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 2), (std::vector<int>{6, 8}));
}

// CU_GRAPH_COND_TYPE_SWITCH
TEST_F(GraphRulesTest, given_a_switch_then_the_body_with_that_number_runs_or_none) {
  CUdeviceptr data = allocate_ints({0, 0, 0});
  const CUgraphConditionalHandle handle = make_handle(2, CU_GRAPH_COND_ASSIGN_DEFAULT);
  const CUgraphConditionalHandle beyond = make_handle(3, CU_GRAPH_COND_ASSIGN_DEFAULT);
  const auto bodies = add_conditional(handle, CU_GRAPH_COND_TYPE_SWITCH, 3);
  for (size_t i = 0; i < 3; ++i) add_increment(bodies[i], {}, data + 4 * i);
  const auto others = add_conditional(beyond, CU_GRAPH_COND_TYPE_SWITCH, 3);
  for (size_t i = 0; i < 3; ++i) add_increment(others[i], {}, data + 4 * i);
  CUgraphExec exec = instantiate();
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 3), (std::vector<int>{0, 0, 1}));
}

TEST_F(GraphRulesTest, given_wrong_conditionals_then_they_are_refused) {
  CUgraphConditionalHandle handle = make_handle(0, 0);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(&handle, graph_, context_, 0, 2));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(nullptr, graph_, context_, 0, 0));
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  params.conditional.size = 2;
  CUgraphNode node = nullptr;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph_, nullptr, nullptr, 0, &params));
  params.conditional.size = 1;
  params.conditional.handle = 1;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph_, nullptr, nullptr, 0, &params));
  const auto bodies = add_conditional(handle, CU_GRAPH_COND_TYPE_IF, 1);
  CUgraphNodeType type{};
  CU_OK(cuGraphNodeGetType(conditional_, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  params.conditional.handle = handle;  // has its node already
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph_, nullptr, nullptr, 0, &params));
  CUDA_HOST_NODE_PARAMS host{[](void*) {}, nullptr};
  CU_OK(cuGraphAddHostNode(&node, bodies[0], nullptr, 0, &host));
  CUgraphExec exec = nullptr;
  EXPECT_NE(CUDA_SUCCESS, cuGraphInstantiate(&exec, graph_, 0));
}

// cuGraphAddDependencies_v2, cuGraphGetEdges_v2: CUDA_ERROR_LOSSY_QUERY
TEST_F(GraphRulesTest, given_edges_with_data_then_only_calls_that_take_data_may_list_them) {
  CUgraphNode a = add_spin({}, 1), b = add_spin({}, 1);
  CUgraphEdgeData data{};
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  CU_OK(cuGraphAddDependencies(graph_, &a, &b, &data, 1));
  size_t count = 1;
  CUgraphNode from = nullptr, to = nullptr;
  CUgraphEdgeData read{};
  CU_OK(cuGraphGetEdges(graph_, &from, &to, &read, &count));
  EXPECT_EQ(read.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(read.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
  CU_IS(CUDA_ERROR_LOSSY_QUERY, cuGraphGetEdges(graph_, &from, &to, nullptr, &count));
  CU_IS(CUDA_ERROR_LOSSY_QUERY, cuGraphNodeGetDependencies(b, &from, nullptr, &count));
  CU_OK(cuGraphNodeGetDependentNodes(a, &to, &read, &count));
  EXPECT_EQ(to, b);
  data.type = 9;
  CU_OK(cuGraphRemoveDependencies(graph_, &a, &b, nullptr, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph_, &a, &b, &data, 1));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies(graph_, &a, &b, nullptr, 1));
}

std::atomic<int> destroyed{0};
void count_destruction(void*) {
  ++destroyed;
}

// cuUserObjectCreate, cuGraphRetainUserObject, cuGraphReleaseUserObject
TEST_F(GraphRulesTest, given_a_user_object_then_the_last_holder_destroys_it) {
  destroyed = 0;
  CUuserObject object = nullptr;
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&object, nullptr, &count_destruction, 1, 0));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&object, nullptr, &count_destruction, 0,
                                                     CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  CU_OK(cuUserObjectCreate(&object, nullptr, &count_destruction, 1,
                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  CU_OK(cuGraphRetainUserObject(graph_, object, 1, 0));
  CU_OK(cuUserObjectRetain(object, 2));
  CU_OK(cuUserObjectRelease(object, 3));
  EXPECT_EQ(destroyed, 0);
  add_spin({}, 10);
  CUgraphExec exec = instantiate();
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(graph_, object, 2));
  CU_OK(cuGraphDestroy(graph_));
  EXPECT_EQ(destroyed, 0);  // the executable graph holds it
  CU_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(destroyed, 1);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(object, 1));
}

TEST_F(GraphRulesTest, given_the_graph_runs_when_destroyed_then_its_user_objects_outlive_the_run) {
  destroyed = 0;
  CUuserObject object = nullptr;
  CU_OK(cuUserObjectCreate(&object, nullptr, &count_destruction, 1,
                           CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  CU_OK(cuGraphRetainUserObject(graph_, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  add_empty();
  CUdeviceptr word = allocate_ints({0});
  CUgraphExec exec = instantiate();
  CU_OK(cuStreamWaitValue32(stream_, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuGraphDestroy(graph_));
  CU_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(destroyed, 0);
  CUstream other = nullptr;
  CU_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_OK(cuStreamWriteValue32(other, word, 1, 0));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(destroyed, 1);
}

// cuGraphBatchMemOpNodeGetParams, cuGraphEventRecordNodeSetEvent,
// cuGraphExecChildGraphNodeSetParams
TEST_F(GraphRulesTest, given_nodes_then_their_parameters_can_be_read_and_replaced) {
  CUdeviceptr data = allocate_ints({0, 0});
  CUstreamBatchMemOpParams write{};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = data;
  write.writeValue.value = 3;
  CUDA_BATCH_MEM_OP_NODE_PARAMS params{context_, 1, &write, 0}, read{};
  CUgraphNode batch = nullptr, record = nullptr, child = nullptr;
  CU_OK(cuGraphAddBatchMemOpNode(&batch, graph_, nullptr, 0, &params));
  CU_OK(cuGraphBatchMemOpNodeGetParams(batch, &read));
  ASSERT_EQ(read.count, 1U);
  EXPECT_EQ(read.ctx, context_);
  EXPECT_EQ(read.paramArray[0].writeValue.address, data);
  EXPECT_EQ(read.paramArray[0].writeValue.value, 3U);
  write.writeValue.value = 4;
  CU_OK(cuGraphBatchMemOpNodeSetParams(batch, &params));
  CUevent first = nullptr, second = nullptr, told = nullptr;
  CU_OK(cuEventCreate(&first, 0));
  CU_OK(cuEventCreate(&second, 0));
  CU_OK(cuGraphAddEventRecordNode(&record, graph_, &batch, 1, first));
  CU_OK(cuGraphEventRecordNodeSetEvent(record, second));
  CU_OK(cuGraphEventRecordNodeGetEvent(record, &told));
  EXPECT_EQ(told, second);
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphEventWaitNodeSetEvent(record, first));
  CUgraph inner = nullptr, other = nullptr;
  CU_OK(cuGraphCreate(&inner, 0));
  CU_OK(cuGraphCreate(&other, 0));
  add_increment(inner, {}, data);
  add_increment(other, {}, data + 4);
  CU_OK(cuGraphAddChildGraphNode(&child, graph_, &batch, 1, inner));
  CUgraphExec exec = instantiate();
  CU_OK(cuGraphExecChildGraphNodeSetParams(exec, child, other));
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(exec, child, graph_));
  CU_OK(cuGraphLaunch(exec, stream_));
  CU_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(read_ints(data, 2), (std::vector<int>{4, 1}));
  CU_OK(cuEventQuery(second));
}

// cuGraphDebugDotPrint
TEST_F(GraphRulesTest, given_a_path_then_the_graph_is_printed_there) {
  add_spin({add_spin({}, 1)}, 1);
  char path[] = "/tmp/simdriver-dot-XXXXXX";
  ASSERT_GE(mkstemp(path), 0);
  CU_OK(cuGraphDebugDotPrint(graph_, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::remove(path);
  EXPECT_EQ(text.rfind("digraph", 0), 0U);
  EXPECT_NE(text.find("spin"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '>'), 2 * 3 + 1);  // two launches and an edge
  CU_IS(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint(graph_, nullptr, 0));
  CU_IS(CUDA_ERROR_OPERATING_SYSTEM, cuGraphDebugDotPrint(graph_, "/nowhere/graph.dot", 0));
}

}  // namespace
}  // namespace gacer::simdriver
