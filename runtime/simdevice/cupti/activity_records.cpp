// SPDX-License-Identifier: Apache-2.0
// The records of device work and of resources, and their sizes.
#include <cstring>
#include <mutex>

#include "runtime/simdevice/cupti/activity.h"
#include "runtime/simdevice/cupti/driver_link.h"

namespace gacer::simcupti {
namespace {

using simdevice::ToolsActivity;
using simdevice::ToolsActivityKind;

constexpr size_t aligned(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

int attribute(CUdevice device, CUdevice_attribute which) {
  static auto* const get =
      driver_function<CUresult(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
  int value = 0;
  return get != nullptr && get(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

uint32_t figure(CUdevice device, CUdevice_attribute which) {
  return static_cast<uint32_t>(attribute(device, which));
}

// Lives as long as the process, as records point to it.
const char* device_name(CUdevice device) {
  auto* get = driver_function<CUresult(char*, int, CUdevice)>("cuDeviceGetName");
  char* name = new char[256]();
  if (get != nullptr) (void)get(name, 256, device);
  return name;
}

void fill_limits(CUdevice device, CUpti_ActivityDevice5& record) {
  record.maxWarpsPerMultiprocessor =
      figure(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32;
  record.maxBlocksPerMultiprocessor =
      figure(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  record.maxSharedMemoryPerMultiprocessor =
      figure(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  record.maxRegistersPerMultiprocessor =
      figure(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  record.maxRegistersPerBlock = figure(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  record.maxSharedMemoryPerBlock = figure(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  record.maxThreadsPerBlock = figure(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  record.maxBlockDimX = figure(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  record.maxBlockDimY = figure(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  record.maxBlockDimZ = figure(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  record.maxGridDimX = figure(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  record.maxGridDimY = figure(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  record.maxGridDimZ = figure(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
}

CUpti_ActivityDevice5 device_record(CUdevice device) {
  CUpti_ActivityDevice5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
  // Two transfers a clock: kHz * bits / 8 * 2, in kB/s.
  const uint64_t memory_khz = figure(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  record.globalMemoryBandwidth =
      memory_khz * figure(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 4;
  size_t bytes = 0;
  if (auto* get = driver_function<CUresult(size_t*, CUdevice)>("cuDeviceTotalMem_v2"))
    (void)get(&bytes, device);
  record.globalMemorySize = bytes;
  record.constantMemorySize = figure(device, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  record.l2CacheSize = figure(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  record.numThreadsPerWarp = figure(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  record.coreClockRate = figure(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  record.numMemcpyEngines = figure(device, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  record.numMultiprocessors = figure(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  record.maxIPC = 4;  // warp schedulers of an SM, on every device of the table
  fill_limits(device, record);
  record.computeCapabilityMajor = figure(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  record.computeCapabilityMinor = figure(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  record.id = static_cast<uint32_t>(device);
  if (auto* get = driver_function<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid_v2")) {
    CUuuid uuid{};
    (void)get(&uuid, device);
    memcpy(&record.uuid, &uuid, sizeof uuid);
  }
  record.name = device_name(device);
  record.isCudaVisible = 1;
  record.gpuInstanceId = record.computeInstanceId = UINT32_MAX;
  return record;
}

}  // namespace

size_t record_bytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return aligned(sizeof(CUpti_ActivityKernel10));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return aligned(sizeof(CUpti_ActivityMemcpy6));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return aligned(sizeof(CUpti_ActivityMemcpyPtoP4));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return aligned(sizeof(CUpti_ActivityMemset4));
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return aligned(sizeof(CUpti_ActivityAPI));
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return aligned(sizeof(CUpti_ActivityDevice5));
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return aligned(sizeof(CUpti_ActivityContext3));
    case CUPTI_ACTIVITY_KIND_STREAM:
      return aligned(sizeof(CUpti_ActivityStream));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return aligned(sizeof(CUpti_ActivitySynchronization2));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return aligned(sizeof(CUpti_ActivityMemory4));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return aligned(sizeof(CUpti_ActivityExternalCorrelation));
    default:
      return 0;
  }
}

void Activities::record(const ToolsActivity& activity) {
  switch (activity.kind) {
    case ToolsActivityKind::kKernel:
      return record_kernel(activity);
    case ToolsActivityKind::kMemcpy:
      return record_copy(activity);
    case ToolsActivityKind::kMemset:
      return record_memset(activity);
  }
}

void Activities::record_kernel(const ToolsActivity& activity) {
  const bool concurrent = enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (!concurrent && !enabled(CUPTI_ACTIVITY_KIND_KERNEL)) return;
  static std::atomic<int64_t> grids{0};
  CUpti_ActivityKernel10 record{};
  record.kind = concurrent ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : CUPTI_ACTIVITY_KIND_KERNEL;
  record.registersPerThread = static_cast<uint16_t>(activity.registers_per_thread);
  record.start = activity.start_ns;
  record.end = activity.end_ns;
  record.completed = activity.end_ns;
  record.deviceId = activity.device;
  record.contextId = activity.context_id;
  record.streamId = activity.stream_id;
  record.gridX = static_cast<int32_t>(activity.grid[0]);
  record.gridY = static_cast<int32_t>(activity.grid[1]);
  record.gridZ = static_cast<int32_t>(activity.grid[2]);
  record.blockX = static_cast<int32_t>(activity.block[0]);
  record.blockY = static_cast<int32_t>(activity.block[1]);
  record.blockZ = static_cast<int32_t>(activity.block[2]);
  record.staticSharedMemory = static_cast<int32_t>(activity.static_smem_bytes);
  record.dynamicSharedMemory = static_cast<int32_t>(activity.dynamic_smem_bytes);
  record.sharedMemoryExecuted = activity.static_smem_bytes + activity.dynamic_smem_bytes;
  record.localMemoryPerThread = activity.local_bytes_per_thread;
  record.correlationId = activity.correlation_id;
  record.gridId = grids.fetch_add(1, std::memory_order_relaxed) + 1;
  record.name = activity.name;
  record.graphNodeId = activity.graph_node_id;
  append(record);
}

// Copies between devices have a kind of their own; a client that has not asked for it gets the
// usual record.
void Activities::record_copy(const ToolsActivity& activity) {
  const bool peer = activity.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  const auto fill = [&](auto record) {
    record.copyKind = static_cast<uint8_t>(activity.copy_kind);
    record.srcKind = static_cast<uint8_t>(activity.src_kind);
    record.dstKind = static_cast<uint8_t>(activity.dst_kind);
    record.bytes = activity.bytes;
    record.start = activity.start_ns;
    record.end = activity.end_ns;
    record.deviceId = activity.device;
    record.contextId = activity.context_id;
    record.streamId = activity.stream_id;
    record.correlationId = activity.correlation_id;
    record.graphNodeId = activity.graph_node_id;
    return record;
  };
  if (peer && enabled(CUPTI_ACTIVITY_KIND_MEMCPY2)) {
    auto record = fill(CUpti_ActivityMemcpyPtoP4{});
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    append(record);
  } else if (enabled(CUPTI_ACTIVITY_KIND_MEMCPY)) {
    auto record = fill(CUpti_ActivityMemcpy6{});
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    record.copyCount = 1;
    append(record);
  }
}

void Activities::record_memset(const ToolsActivity& activity) {
  if (!enabled(CUPTI_ACTIVITY_KIND_MEMSET)) return;
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.value = activity.value;
  record.bytes = activity.bytes;
  record.start = activity.start_ns;
  record.end = activity.end_ns;
  record.deviceId = activity.device;
  record.contextId = activity.context_id;
  record.streamId = activity.stream_id;
  record.correlationId = activity.correlation_id;
  record.memoryKind = static_cast<uint16_t>(activity.dst_kind);
  record.graphNodeId = activity.graph_node_id;
  append(record);
}

void Activities::record_context(CUcontext context) {
  if (!enabled(CUPTI_ACTIVITY_KIND_CONTEXT)) return;
  CUpti_ActivityContext3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  record.contextId = context_id(context);
  record.deviceId = device_of(context);
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = static_cast<uint16_t>(null_stream_id(context));
  record.parentContextId = UINT32_MAX;
  append(record);
}

void Activities::record_stream(const simdevice::ToolsCall& call, CUstream stream, unsigned flags,
                               int priority) {
  if (!enabled(CUPTI_ACTIVITY_KIND_STREAM)) return;
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  record.contextId = context_id(static_cast<CUcontext>(call.context));
  record.streamId = stream_id(stream);
  record.priority = static_cast<uint32_t>(priority);
  record.flag = (flags & CU_STREAM_NON_BLOCKING) != 0
                    ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                    : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  record.correlationId = call.correlation_id;
  append(record);
}

void Activities::record_synchronization(const simdevice::ToolsCall& call,
                                        CUpti_ActivitySynchronizationType type, uint32_t stream) {
  if (!enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = type;
  record.start = call.start_ns;
  record.end = call.end_ns;
  record.correlationId = call.correlation_id;
  record.contextId = context_id(static_cast<CUcontext>(call.context));
  record.streamId = stream;
  record.cudaEventId = UINT32_MAX;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE
  record.returnValue = call.result == nullptr ? 0 : *static_cast<const uint32_t*>(call.result);
  append(record);
}

void Activities::record_devices(bool again) {
  if (!enabled(CUPTI_ACTIVITY_KIND_DEVICE)) return;
  const Unreported guard;
  auto* count_devices = driver_function<CUresult(int*)>("cuDeviceGetCount");
  int count = 0;
  if (count_devices == nullptr || count_devices(&count) != CUDA_SUCCESS) return;
  if (devices_recorded_.exchange(true, std::memory_order_relaxed) && !again) return;
  for (CUdevice device = 0; device < count; ++device) append(device_record(device));
}

}  // namespace gacer::simcupti
