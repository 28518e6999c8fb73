// SPDX-License-Identifier: Apache-2.0
// How the simulated CUPTI sees calls and device work: the one contract between the three libraries.
//
//   libcudart.so.13 ──calls──► libcuda.so.1 (simulated) ◄──subscribes── libcupti.so.13
//
// libcuda.so.1 owns the table and hands it out as cuGetExportTable(&table, &kToolsHooksId), which
// also works when a preloaded shim stands before it. libcudart reports its own calls through the
// same table. Nothing is reported while no handler is set: a call then costs one relaxed load.
// Threads: handlers are called from any thread, on_activity also from the driver's own.
// Source of names, ids and structures: CUPTI's cupti_callbacks.h, cupti_driver_cbid.h,
// cupti_runtime_cbid.h, generated_cuda_meta.h, generated_cuda_runtime_api_meta.h.
#pragma once

#include <atomic>
#include <cstdint>

namespace gacer::simdevice {

// As CUpti_CallbackDomain.
enum class ToolsDomain : uint32_t { kDriver = 1, kRuntime = 2 };

// One API call; the same object at enter and at exit.
struct ToolsCall {
  ToolsDomain domain = ToolsDomain::kDriver;
  uint32_t cbid = 0;               // CUPTI's number of the function
  const char* function = nullptr;  // "cuMemAlloc_v2", "cudaMalloc"
  const void* params = nullptr;    // CUPTI's <function>_params structure
  void* result = nullptr;          // CUresult* or cudaError_t*, valid at exit
  const char* symbol = nullptr;    // launches: name of the kernel
  void* context = nullptr;         // CUcontext current at the call, may be null
  uint32_t correlation_id = 0;     // the same for a runtime call and the driver calls it makes
  uint64_t correlation_data = 0;   // the handler's own, kept from enter to exit
  uint64_t start_ns = 0;           // host clock (CLOCK_REALTIME), set at enter
  uint64_t end_ns = 0;             // set at exit
};

enum class ToolsActivityKind : uint32_t { kKernel, kMemcpy, kMemset };

// One operation that the device has ended. Times: model time, moved to the host's clock.
struct ToolsActivity {
  ToolsActivityKind kind = ToolsActivityKind::kKernel;
  uint32_t correlation_id = 0;  // of the call that submitted it
  uint32_t device = 0;
  uint32_t context_id = 0;
  uint32_t stream_id = 0;
  uint64_t queued_ns = 0, start_ns = 0, end_ns = 0;
  uint64_t bytes = 0;                   // copies and memsets
  uint32_t copy_kind = 0;               // CUpti_ActivityMemcpyKind
  uint32_t value = 0;                   // memsets
  uint32_t src_kind = 0, dst_kind = 0;  // CUpti_ActivityMemoryKind; memsets: dst_kind
  uint64_t graph_node_id = 0;
  const char* name = nullptr;  // kernels; lives as long as the process
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t registers_per_thread = 0;
  uint32_t static_smem_bytes = 0, dynamic_smem_bytes = 0;
  uint32_t local_bytes_per_thread = 0;
};

inline constexpr uint32_t kToolsHooksVersion = 1;

struct ToolsHooks {
  uint32_t version = kToolsHooksVersion;
  uint32_t reserved = 0;
  // Set by CUPTI with release, read by callers with acquire; null: off.
  std::atomic<void (*)(ToolsCall& call, bool enter)> on_call{nullptr};
  std::atomic<void (*)(const ToolsActivity& activity)> on_activity{nullptr};
  // A caller of the driver (the runtime) puts its correlation id here, per thread, so that the
  // driver calls and device work that follow carry it; 0 ends that. Set by libcuda.
  void (*set_thread_correlation)(uint32_t correlation_id) = nullptr;
  // Gives out correlation ids, 1 onwards. Set by libcuda.
  uint32_t (*next_correlation)() = nullptr;
  // Reports activities that have ended since the last time, in the calling thread. Otherwise they
  // come while further work is submitted. Set by libcuda, as all below.
  void (*drain_activity)() = nullptr;
  // The ids that activities carry, of a CUcontext and of a CUstream of the current context; 0: not
  // valid.
  uint32_t (*context_id)(void* context) = nullptr;
  uint32_t (*stream_id)(void* stream) = nullptr;
  uint32_t (*context_device)(void* context) = nullptr;  // UINT32_MAX: not valid
  // The CUcontext current to the thread, or null. Not reported as a call.
  void* (*current_context)() = nullptr;
};

// For cuGetExportTable. A CUuuid of ours; no table of NVIDIA's is imitated.
inline constexpr unsigned char kToolsHooksId[16] = {0x67, 0x61, 0x63, 0x65, 0x72, 0x2d, 0x73, 0x69,
                                                    0x6d, 0x2d, 0x74, 0x6f, 0x6f, 0x6c, 0x73, 0x01};

}  // namespace gacer::simdevice
