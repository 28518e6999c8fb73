// SPDX-License-Identifier: Apache-2.0
// One unit of stream work: what is sent to the server at once, recorded by a capture, or kept in a
// graph node.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdriver {

struct Conditional;
struct Event;
struct Function;
struct Graph;
struct GraphMemory;
struct Stream;

inline constexpr int kStreamPriority = INT_MIN;  // launch with the priority of the stream

struct KernelWork {
  std::shared_ptr<Function> function;
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t dynamic_smem_bytes = 0;
  int priority = kStreamPriority;
  bool cooperative = false;
  std::array<uint32_t, 3> cluster{0, 0, 0};  // blocks; 0: no clusters
  std::vector<uint8_t> params;               // packed
};

struct CopyWork {
  simdevice::CopyKind kind = simdevice::CopyKind::kHtoH;
  bool pageable = false;  // a side is host memory the driver does not know
  uint64_t dst = 0, src = 0;
  uint64_t width_bytes = 0, height = 1, depth = 1;
  uint64_t dst_pitch = 0, src_pitch = 0;
  uint64_t dst_slice_pitch = 0, src_slice_pitch = 0;
  // How the program described it, when arrays take part.
  std::shared_ptr<const CUDA_MEMCPY3D> description;
};

struct MemsetWork {
  uint64_t dst = 0;
  uint64_t width_elements = 0, height = 1, pitch = 0;
  uint32_t value = 0;
  uint32_t element_bytes = 1;
};

struct HostWork {
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr;  // set instead of `function` by cuStreamAddCallback
  CUstream stream = nullptr;            // argument of `callback`
  void* user_data = nullptr;
  std::shared_ptr<const std::function<void()>> internal;  // the driver's own, instead of both
};

struct EventRecordWork {
  std::shared_ptr<Event> event;
};
struct EventWaitWork {
  std::shared_ptr<Event> event;
};

struct ValueWork {
  bool wait = false;
  uint64_t address = 0;
  uint64_t value = 0;
  uint32_t bytes = 4;
  simdevice::WaitCompare compare = simdevice::WaitCompare::kGeq;
};
// Of one cuStreamBatchMemOp.
struct BatchWork {
  std::vector<ValueWork> operations;
  CUcontext context = nullptr;  // as given for a node
};

struct MemAllocWork {
  std::shared_ptr<GraphMemory> memory;
};
struct MemFreeWork {
  std::shared_ptr<GraphMemory> memory;
};

struct EmptyWork {};
struct ChildGraphWork {
  std::shared_ptr<Graph> graph;
};

struct ConditionalWork {
  std::shared_ptr<Conditional> conditional;
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::shared_ptr<std::vector<CUgraph>> handles;  // of the bodies, as the program was told
};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, MemsetWork, HostWork, EventRecordWork,
                          EventWaitWork, BatchWork, ChildGraphWork, MemAllocWork, MemFreeWork,
                          ConditionalWork>;

}  // namespace gacer::simdriver
