// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "interpose/coverage.h"
#include "interpose/driver.h"
#include "interpose/shim.h"
#include "runtime/shm/segment_format.h"

namespace gacer::test {
namespace {

std::unique_ptr<FakeDriver> the_driver;

// One function per symbol nobody cares about: distinct code, so distinct addresses.
std::atomic<int> last_plain_call{0};
template <int number>
CUresult plain() {
  last_plain_call.store(number, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult launch_kernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void**, void**) {
  fake().launches.fetch_add(1);
  return fake().launch_result;
}
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction, void**, void**) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  fake().launches.fetch_add(1);
  return fake().launch_result;
}
CUresult launch_cooperative(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, CUstream, void**) {
  fake().launches.fetch_add(1);
  return fake().launch_result;
}
CUresult launch_graph(CUgraphExec, CUstream) {
  fake().launches.fetch_add(1);
  return fake().launch_result;
}
CUresult copy_async(CUdeviceptr, CUdeviceptr, size_t, CUstream) {
  fake().copies.fetch_add(1);
  return fake().launch_result;
}

CUresult get_current(CUcontext* context) {
  *context = fake().context;
  return CUDA_SUCCESS;
}
CUresult get_device(CUdevice* device) {
  *device = 0;
  return fake().init_result;
}
CUresult device_get(CUdevice* device, int) {
  *device = 0;
  return fake().init_result;
}
CUresult device_attribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 100 : 2000;
  return CUDA_SUCCESS;
}
CUresult total_memory(size_t* bytes, CUdevice) {
  *bytes = fake().device_bytes;
  return CUDA_SUCCESS;
}
CUresult memory_info(size_t* free_bytes, size_t* total_bytes) {
  if (free_bytes != nullptr) *free_bytes = fake().device_bytes / 2;
  if (total_bytes != nullptr) *total_bytes = fake().device_bytes;
  return CUDA_SUCCESS;
}
CUresult primary_state(CUdevice, unsigned*, int* active) {
  *active = fake().primary_active ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult priority_range(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult stream_create(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(fake().new_handle());
  fake().stream_priorities.push_back(FakeDriver::kNoPriority);
  return CUDA_SUCCESS;
}
CUresult stream_create_priority(CUstream* stream, unsigned, int priority) {
  *stream = reinterpret_cast<CUstream>(fake().new_handle());
  fake().stream_priorities.push_back(priority);
  return CUDA_SUCCESS;
}
CUresult green_stream_create(CUstream* stream, CUgreenCtx, unsigned, int priority) {
  return stream_create_priority(stream, 0, priority);
}
CUresult set_stream_attribute(CUstream, CUstreamAttrID which, const CUstreamAttrValue* value) {
  if (which == CU_LAUNCH_ATTRIBUTE_PRIORITY) fake().attribute_priority = value->priority;
  return CUDA_SUCCESS;
}

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult exchange_mode(CUstreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return CUDA_SUCCESS;
}
void unsafe_call() {
  if (capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) fake().unsafe_calls.fetch_add(1);
}
CUresult is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  FakeDriver& driver = fake();
  driver.capture_questions.fetch_add(1);
  const bool legacy = stream == nullptr || stream == CU_STREAM_LEGACY;
  if (legacy && driver.blocking_stream_captures) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  const std::lock_guard lock(driver.mutex);
  const auto found = driver.capturing.find(stream);
  *status = found != driver.capturing.end() ? found->second : driver.capture_status;
  return CUDA_SUCCESS;
}
CUresult begin_capture(CUstream stream, CUstreamCaptureMode) {
  const std::lock_guard lock(fake().mutex);
  if (fake().begin_capture_result == CUDA_SUCCESS)
    fake().capturing[stream] = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return fake().begin_capture_result;
}
CUresult end_capture(CUstream stream, CUgraph*) {
  const std::lock_guard lock(fake().mutex);
  if (fake().end_capture_ends) fake().capturing.erase(stream);
  return fake().end_capture_result;
}

CUresult host_register(void*, size_t, unsigned) {
  unsafe_call();
  fake().registrations.fetch_add(1);
  return fake().register_result;
}
CUresult host_pointer(CUdeviceptr* device, void* host, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}
CUresult stream_write(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
  FakeDriver& driver = fake();
  if (driver.write_result != CUDA_SUCCESS) return driver.write_result;
  driver.stream_writes.fetch_add(1);
  const std::lock_guard lock(driver.mutex);
  if (driver.capturing.count(stream) != 0) driver.writes_into_captures.fetch_add(1);
  driver.pending.push_back({reinterpret_cast<uint64_t*>(address), value, nullptr});
  if (driver.finish_at_once) driver.finish_one();
  return CUDA_SUCCESS;
}

CUresult event_create(CUevent* event, unsigned) {
  unsafe_call();
  fake().events_created.fetch_add(1);
  *event = reinterpret_cast<CUevent>(fake().new_handle());
  return CUDA_SUCCESS;
}
CUresult event_record(CUevent event, CUstream) {
  FakeDriver& driver = fake();
  if (driver.event_record_result != CUDA_SUCCESS) return driver.event_record_result;
  const std::lock_guard lock(driver.mutex);
  driver.happened[event] = false;
  driver.pending.push_back({nullptr, 0, event});
  if (driver.finish_at_once) driver.finish_one();
  return CUDA_SUCCESS;
}
CUresult event_query(CUevent event) {
  unsafe_call();
  fake().event_queries.fetch_add(1);
  const std::lock_guard lock(fake().mutex);
  return fake().happened[event] ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult mem_alloc(CUdeviceptr* pointer, size_t) {
  if (fake().alloc_result == CUDA_SUCCESS) *pointer = fake().new_handle();
  return fake().alloc_result;
}
CUresult mem_alloc_pitch(CUdeviceptr* pointer, size_t* pitch, size_t, size_t, unsigned) {
  if (fake().alloc_result == CUDA_SUCCESS) *pointer = fake().new_handle();
  *pitch = fake().pitch;
  return fake().alloc_result;
}
CUresult mem_free(CUdeviceptr pointer) {
  fake().frees.push_back(pointer);
  return fake().free_result;
}

CUresult load_data(CUmodule* module, const void*) {
  *module = reinterpret_cast<CUmodule>(fake().new_handle());
  return CUDA_SUCCESS;
}
CUresult get_function(CUfunction* function, CUmodule, const char*) {
  *function = reinterpret_cast<CUfunction>(fake().new_handle());
  return CUDA_SUCCESS;
}
CUresult function_attribute(int* value, CUfunction_attribute which, CUfunction) {
  fake().attribute_questions.fetch_add(1);
  *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? fake().regs : fake().smem;
  return CUDA_SUCCESS;
}

CUresult graph_nodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  const auto& mine = fake().graphs[graph];
  if (nodes != nullptr) std::copy(mine.begin(), mine.end(), nodes);
  *count = mine.size();
  return CUDA_SUCCESS;
}
CUresult node_type(CUgraphNode node, CUgraphNodeType* type) {
  *type = CU_GRAPH_NODE_TYPE_MEMCPY;
  if (fake().kernel_nodes.count(node) != 0) *type = CU_GRAPH_NODE_TYPE_KERNEL;
  if (fake().child_nodes.count(node) != 0) *type = CU_GRAPH_NODE_TYPE_GRAPH;
  if (fake().memset_nodes.count(node) != 0) *type = CU_GRAPH_NODE_TYPE_MEMSET;
  if (fake().other_nodes.count(node) != 0) *type = fake().other_nodes[node];
  return CUDA_SUCCESS;
}
CUresult node_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  *params = fake().kernel_nodes[node];
  return fake().new_node_params_result;
}
CUresult old_node_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  memcpy(params, &fake().kernel_nodes[node], sizeof *params);  // v2 appends members
  return CUDA_SUCCESS;
}
CUresult update_exec(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*) {
  return fake().update_result;
}
CUresult copy_params(CUgraphNode node, CUDA_MEMCPY3D* params) {
  *params = fake().copy_nodes[node];
  return CUDA_SUCCESS;
}
CUresult memset_params(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  *params = fake().memset_nodes[node];
  return CUDA_SUCCESS;
}
CUresult child_graph(CUgraphNode node, CUgraph* graph) {
  *graph = fake().child_nodes[node];
  return CUDA_SUCCESS;
}
CUresult instantiate(CUgraphExec* exec, CUgraph, unsigned long long) {
  *exec = reinterpret_cast<CUgraphExec>(fake().new_handle());
  return CUDA_SUCCESS;
}

struct Symbol {
  const char* name;
  void* address;
};

template <typename Function>
void* address_of(Function function) {
  return reinterpret_cast<void*>(function);
}

const std::vector<Symbol>& written_symbols() {
  static const std::vector<Symbol> symbols = {
      {"cuLaunchKernel", address_of(&launch_kernel)},
      {"cuLaunchKernelEx", address_of(&launch_kernel_ex)},
      {"cuLaunchCooperativeKernel", address_of(&launch_cooperative)},
      {"cuGraphLaunch", address_of(&launch_graph)},
      {"cuMemcpyAsync", address_of(&copy_async)},
      {"cuCtxGetCurrent", address_of(&get_current)},
      {"cuCtxGetDevice", address_of(&get_device)},
      {"cuDeviceGet", address_of(&device_get)},
      {"cuDeviceGetAttribute", address_of(&device_attribute)},
      {"cuDeviceTotalMem_v2", address_of(&total_memory)},
      {"cuMemGetInfo_v2", address_of(&memory_info)},
      {"cuDevicePrimaryCtxGetState", address_of(&primary_state)},
      {"cuCtxGetStreamPriorityRange", address_of(&priority_range)},
      {"cuStreamCreate", address_of(&stream_create)},
      {"cuStreamCreateWithPriority", address_of(&stream_create_priority)},
      {"cuGreenCtxStreamCreate", address_of(&green_stream_create)},
      {"cuStreamSetAttribute", address_of(&set_stream_attribute)},
      {"cuStreamIsCapturing", address_of(&is_capturing)},
      {"cuMemHostRegister_v2", address_of(&host_register)},
      {"cuMemHostGetDevicePointer_v2", address_of(&host_pointer)},
      {"cuStreamWriteValue64_v2", address_of(&stream_write)},
      {"cuEventCreate", address_of(&event_create)},
      {"cuEventRecord", address_of(&event_record)},
      {"cuEventQuery", address_of(&event_query)},
      {"cuMemAlloc_v2", address_of(&mem_alloc)},
      {"cuMemAllocPitch_v2", address_of(&mem_alloc_pitch)},
      {"cuMemFree_v2", address_of(&mem_free)},
      {"cuModuleLoadData", address_of(&load_data)},
      {"cuModuleGetFunction", address_of(&get_function)},
      {"cuFuncGetAttribute", address_of(&function_attribute)},
      {"cuGraphGetNodes", address_of(&graph_nodes)},
      {"cuGraphNodeGetType", address_of(&node_type)},
      {"cuGraphKernelNodeGetParams_v2", address_of(&node_params)},
      {"cuStreamIsCapturing_ptsz", address_of(&is_capturing)},
      {"cuThreadExchangeStreamCaptureMode", address_of(&exchange_mode)},
      {"cuStreamBeginCapture_v2", address_of(&begin_capture)},
      {"cuStreamEndCapture", address_of(&end_capture)},
      {"cuGraphKernelNodeGetParams", address_of(&old_node_params)},
      {"cuGraphExecUpdate_v2", address_of(&update_exec)},
      {"cuGraphMemcpyNodeGetParams", address_of(&copy_params)},
      {"cuGraphMemsetNodeGetParams", address_of(&memset_params)},
      {"cuGraphChildGraphNodeGetGraph", address_of(&child_graph)},
      {"cuGraphInstantiateWithFlags", address_of(&instantiate)},
  };
  return symbols;
}

// __COUNTER__ numbers the rows, so each symbol gets its own plain<>.
const std::vector<Symbol>& plain_symbols() {
  static const std::vector<Symbol> symbols = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  {#symbol, address_of(&plain<__COUNTER__>)},
#include "interpose/cuda_hooks.def"
#define GACER_DRIVER_FUNCTION(symbol) {#symbol, address_of(&plain<__COUNTER__>)},
#include "interpose/driver_functions.def"
  };
  return symbols;
}

}  // namespace

FakeDriver& fake() {
  return *the_driver;
}

uint64_t FakeDriver::new_handle() {
  return next_handle += 0x1000;
}

// Caller holds mutex.
void FakeDriver::finish_one() {
  const Pending done = pending.front();
  pending.pop_front();
  if (done.word != nullptr) __atomic_store_n(done.word, done.value, __ATOMIC_RELAXED);
  if (done.event != nullptr) happened[done.event] = true;
}

void FakeDriver::finish_all() {
  const std::lock_guard lock(mutex);
  while (!pending.empty()) finish_one();
}

void* fake_symbol(void*, const char* symbol) {
  for (const Symbol& known : written_symbols())
    if (strcmp(known.name, symbol) == 0) return known.address;
  for (const Symbol& known : plain_symbols())
    if (strcmp(known.name, symbol) == 0) return known.address;
  return nullptr;
}

void reset_shim() {
  the_driver = std::make_unique<FakeDriver>();
  interpose::DriverTable table;
  interpose::fill_driver_table(table, &fake_symbol, nullptr, CUDA_ERROR_NOT_SUPPORTED);
  interpose::install_driver(table, &fake_symbol, nullptr);
  setenv("GACER_SOCKET", "/nonexistent/gacer.sock", 1);
  reset_shim_state();
}

void reset_shim_state() {
  interpose::Shim& shim = interpose::shim();
  shim.session.after_fork_in_child();
  shim.captures.reset();
  shim.graphs.forget_all();
  shim.priorities.reset();
  shim.memory.reset();
  shim.memory.devices().forget();
  shim.pools.reset();
  shim.vmm.reset();
  shim.graph_memory.reset();
  shim.overhead.reset();
  interpose::reset_coverage();
}

interpose::Attachment& attach_fake() {
  void* memory = aligned_alloc(4096, (sizeof(abi::Segment) + 4095) / 4096 * 4096);
  memset(memory, 0, sizeof(abi::Segment));
  auto* segment = static_cast<abi::Segment*>(memory);
  shm::format_segment(*segment, 1, 1);
  segment->gate.max_wait_ns.store(50'000'000);
  static auto& kept = *new std::vector<interpose::Attachment*>;
  auto* attachment = new interpose::Attachment(*segment, nullptr, -1);
  kept.push_back(attachment);
  interpose::shim().session.publish(attachment);
  return *attachment;
}

void decide(abi::Segment& segment, abi::GateMode mode, uint64_t window_ns, bool record,
            uint32_t mark_every) {
  abi::GateWords& gate = segment.gate;
  gate.mode.store(static_cast<uint32_t>(mode), std::memory_order_relaxed);
  gate.window_ns.store(window_ns, std::memory_order_relaxed);
  gate.flags.store(record ? uint32_t{abi::kFlagRecord} : 0u, std::memory_order_relaxed);
  gate.mark_every.store(mark_every, std::memory_order_relaxed);
  gate.gate_seq.fetch_add(1, std::memory_order_release);  // pairs with the shim's acquire loads
}

}  // namespace gacer::test
