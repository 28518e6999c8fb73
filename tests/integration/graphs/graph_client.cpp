// SPDX-License-Identifier: Apache-2.0
// A CUDA program of graphs and captures: graph_client MODE [COUNT]. Prints every call it makes and
// what came of it, so that runs with and without a shim can be compared. It knows nothing of the
// shim. Exit code 0: all numbers it computed are right.
#include <cuda.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kThreads = 32;
constexpr char kPtx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry bump(.param .u64 to)
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r2, 1;
  red.global.add.u32 [%rd3], %r2;
  ret;
}
)";

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  printf("not so: %s\n", what);
}

// `say`: the call belongs to the log that is compared.
CUresult check(CUresult result, const char* call, bool say) {
  if (say || result != CUDA_SUCCESS) printf("%s = %d\n", call, result);
  return result;
}
#define SAY(call) check((call), #call, true)
#define MUST(call) expect(check((call), #call, false) == CUDA_SUCCESS, #call)

struct Program {
  CUcontext context = nullptr;
  CUfunction bump = nullptr;
  CUdeviceptr counters = 0;
};
Program program;

void prepare() {
  CUdevice device = 0;
  CUmodule module = nullptr;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&program.context, device));
  MUST(cuCtxSetCurrent(program.context));
  MUST(cuModuleLoadData(&module, kPtx));
  MUST(cuModuleGetFunction(&program.bump, module, "bump"));
  MUST(cuMemAlloc(&program.counters, kThreads * sizeof(unsigned)));
  MUST(cuMemsetD32(program.counters, 0, kThreads));
}

CUresult launch(CUstream stream) {
  void* params[] = {&program.counters};
  return cuLaunchKernel(program.bump, 1, 1, 1, kThreads, 1, 1, 0, stream, params, nullptr);
}

unsigned counter() {
  unsigned values[kThreads] = {};
  MUST(cuMemcpyDtoH(values, program.counters, sizeof values));
  for (const unsigned value : values) expect(value == values[0], "all counters agree");
  return values[0];
}

CUstream new_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, flags));
  return stream;
}
CUevent new_event() {
  CUevent event = nullptr;
  MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  return event;
}

size_t nodes_of(CUgraph graph) {
  size_t count = 0;
  MUST(cuGraphGetNodes(graph, nullptr, &count));
  return count;
}

// -- a capture in one thread, launches in others
// -----------------------------------------------------

void launch_beside(int count, bool legacy, std::atomic<bool>& stop, std::atomic<int>& made) {
  MUST(cuCtxSetCurrent(program.context));
  const CUstream stream = legacy ? nullptr : new_stream();
  int mine = 0;
  for (; mine < count || !stop; ++mine) {
    MUST(launch(stream));
    made.fetch_add(1);
  }
  while (!stop) std::this_thread::yield();
  MUST(cuStreamSynchronize(stream));
}

// Captures `launches` launches while the others go on; the graph is right and runs.
void capture_once(CUstreamCaptureMode mode, int launches, CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuStreamBeginCapture(stream, mode));
  for (int i = 0; i < launches; ++i) MUST(launch(stream));
  MUST(cuStreamEndCapture(stream, &graph));
  expect(nodes_of(graph) == static_cast<size_t>(launches), "a node a launch and nothing else");
  MUST(cuGraphInstantiate(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

void captures_beside_launches(int count) {
  constexpr int kCaptured = 50;
  constexpr int kRounds = 4;
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    std::atomic<bool> stop{false};
    std::atomic<int> made{0};
    MUST(cuMemsetD32(program.counters, 0, kThreads));
    std::thread created([&] { launch_beside(count, false, stop, made); });
    std::thread legacy([&] { launch_beside(count / 10, true, stop, made); });
    const CUstream stream = new_stream();
    for (int round = 0; round < kRounds; ++round) capture_once(mode, kCaptured, stream);
    stop = true;
    created.join();
    legacy.join();
    const auto all = static_cast<unsigned>(made + kCaptured * kRounds);
    expect(counter() == all, "every launch has run once");
    printf("mode %d: %s\n", static_cast<int>(mode), failures == 0 ? "ok" : "failed");
  }
}

// -- as a framework captures a model
// ----------------------------------------------------------------

void say_capture(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  SAY(cuStreamIsCapturing(stream, &status));
  printf("  status %d\n", status);
  SAY(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, nullptr, &count));
  printf("  status %d, in a graph: %d, dependencies %zu\n", status, graph != nullptr, count);
}

void framework(int replays) {
  const CUstream stream = new_stream();
  const CUevent fork = new_event();
  const CUevent join = new_event();
  const CUstream side = new_stream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUdeviceptr scratch = 0;
  SAY(launch(stream));  // warm-up
  SAY(cuStreamSynchronize(stream));
  say_capture(stream);
  SAY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  SAY(cuMemAllocAsync(&scratch, 4096, stream));
  SAY(launch(stream));
  say_capture(stream);
  SAY(cuEventRecord(fork, stream));
  SAY(cuStreamWaitEvent(side, fork, 0));
  say_capture(side);
  SAY(launch(side));
  SAY(cuMemsetD32Async(program.counters, 0, 0, stream));
  SAY(cuEventQuery(fork));  // of a captured event: refused, and the capture is lost
  SAY(cuEventRecord(join, side));
  SAY(cuStreamWaitEvent(stream, join, 0));
  SAY(cuStreamEndCapture(stream, &graph));
  say_capture(stream);
  SAY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  SAY(cuStreamEndCapture(side, &graph));
  SAY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  SAY(launch(stream));
  SAY(cuEventRecord(fork, stream));
  SAY(cuStreamWaitEvent(side, fork, 0));
  SAY(launch(side));
  SAY(cuEventRecord(join, side));
  SAY(cuStreamWaitEvent(stream, join, 0));
  SAY(launch(stream));
  SAY(cuStreamEndCapture(stream, &graph));
  printf("  nodes %zu\n", nodes_of(graph));
  CUDA_GRAPH_INSTANTIATE_PARAMS how{};
  how.flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  SAY(cuGraphInstantiateWithParams(&exec, graph, &how));
  SAY(cuGraphUpload(exec, stream));
  SAY(cuStreamSynchronize(stream));
  const unsigned before = counter();
  for (int i = 0; i < replays; ++i) MUST(cuGraphLaunch(exec, stream));
  SAY(cuStreamSynchronize(stream));
  const unsigned after = counter();
  printf("  counted %u\n", after - before);
  expect(after - before == 3U * static_cast<unsigned>(replays), "each replay counts thrice");
  SAY(cuGraphExecDestroy(exec));
  SAY(cuGraphDestroy(graph));
  SAY(cuStreamDestroy(side));
  SAY(cuStreamDestroy(stream));
}

// -- as a communication library is captured
// ---------------------------------------------------------

void allocating_host_node(void* data) {
  std::vector<int> work(1000, 1);
  static_cast<std::atomic<int>*>(data)->fetch_add(work[999]);
}
void release_user_object(void* data) {
  static_cast<std::atomic<int>*>(data)->fetch_add(1000);
}

void communication(int replays) {
  static std::atomic<int> host_calls{0};
  static std::atomic<int> released{0};
  const CUstream stream = new_stream();
  const CUstream side = new_stream();
  const CUevent fork = new_event();
  const CUevent join = new_event();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUuserObject object = nullptr;
  SAY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  SAY(cuStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
  if (SAY(cuUserObjectCreate(&object, &released, &release_user_object, 1,
                             CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)) == CUDA_SUCCESS)
    SAY(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  SAY(cuEventRecord(fork, stream));
  SAY(cuStreamWaitEvent(side, fork, 0));
  SAY(launch(side));
  SAY(cuLaunchHostFunc(side, &allocating_host_node, &host_calls));
  SAY(launch(stream));
  SAY(cuEventRecord(join, side));
  SAY(cuStreamWaitEvent(stream, join, 0));
  SAY(cuStreamEndCapture(stream, &graph));
  printf("  nodes %zu\n", nodes_of(graph));
  SAY(cuGraphInstantiate(&exec, graph, 0));
  std::thread([&] {
    MUST(cuCtxSetCurrent(program.context));
    const CUstream elsewhere = new_stream();
    for (int i = 0; i < replays; ++i) MUST(cuGraphLaunch(exec, elsewhere));
    SAY(cuStreamSynchronize(elsewhere));
    MUST(cuStreamDestroy(elsewhere));
  }).join();
  printf("  counted %u, host calls %d\n", counter(), host_calls.load());
  expect(counter() == 2U * static_cast<unsigned>(replays), "each replay counts twice");
  expect(host_calls == replays, "each replay calls the host");
  SAY(cuGraphExecDestroy(exec));
  SAY(cuGraphDestroy(graph));
  printf("  released %d\n", released.load());
}

// -- priorities
// ---------------------------------------------------------------------------------------

void say_priority(CUstream stream) {
  int priority = 99;
  CUstreamAttrValue value{};
  SAY(cuStreamGetPriority(stream, &priority));
  SAY(cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
  printf("  %d %d\n", priority, value.priority);
}

void priorities() {
  int least = 0;
  int greatest = 0;
  SAY(cuCtxGetStreamPriorityRange(&least, &greatest));
  printf("  %d to %d\n", least, greatest);
  for (const int wanted : {0, -1, greatest, greatest - 7, 5}) {
    CUstream stream = nullptr;
    SAY(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, wanted));
    say_priority(stream);
    CUstreamAttrValue value{};
    value.priority = -2;
    SAY(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
    say_priority(stream);
    SAY(launch(stream));
    SAY(cuStreamSynchronize(stream));
    SAY(cuStreamDestroy(stream));
  }
  say_priority(new_stream());
  say_priority(nullptr);
}

// -- graph launches in a loop
// ------------------------------------------------------------------------

void replay(int launches) {
  constexpr int kKernels = 100;
  const CUstream stream = new_stream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < kKernels; ++i) MUST(launch(stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < launches; ++i) {
    MUST(cuGraphLaunch(exec, stream));
    if (i % 8 == 7) MUST(cuStreamSynchronize(stream));
  }
  MUST(cuStreamSynchronize(stream));
  expect(counter() == static_cast<unsigned>(kKernels * launches), "every kernel has run");
}

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  prepare();
  if (strcmp(mode, "beside") == 0)
    captures_beside_launches(count);
  else if (strcmp(mode, "framework") == 0)
    framework(count);
  else if (strcmp(mode, "communication") == 0)
    communication(count);
  else if (strcmp(mode, "priorities") == 0)
    priorities();
  else if (strcmp(mode, "replay") == 0)
    replay(count);
  else
    return 2;
  return failures == 0 ? 0 : 1;
}
