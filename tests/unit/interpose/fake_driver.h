// SPDX-License-Identifier: Apache-2.0
// A driver in this process for unit tests: does what a test tells it to and counts what it is
// asked. Functions that no test looks at answer CUDA_SUCCESS and have distinct addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "interpose/attachment.h"
#include "interpose/cuda_api.h"
#include "interpose/driver_table.h"

namespace gacer::test {

struct FakeDriver {
  static constexpr int kNoPriority = 12345;
  // What calls answer.
  CUresult launch_result = CUDA_SUCCESS;
  CUresult register_result = CUDA_SUCCESS;
  CUresult write_result = CUDA_SUCCESS;
  CUresult event_record_result = CUDA_SUCCESS;
  CUresult alloc_result = CUDA_SUCCESS;
  CUresult free_result = CUDA_SUCCESS;
  CUresult init_result = CUDA_SUCCESS;
  CUcontext context = reinterpret_cast<CUcontext>(uintptr_t{0xc0c0});
  CUstreamCaptureStatus capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
  bool finish_at_once = true;  // stream writes and events happen when they are issued
  bool primary_active = true;
  size_t pitch = 512;
  uint64_t device_bytes = 8ULL << 30;
  int regs = 40;
  int smem = 1024;

  // What has been asked.
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> copies{0};
  std::atomic<uint64_t> stream_writes{0};
  std::atomic<uint64_t> registrations{0};
  std::atomic<uint64_t> events_created{0};
  std::atomic<uint64_t> event_queries{0};
  std::atomic<uint64_t> capture_questions{0};
  std::atomic<uint64_t> attribute_questions{0};
  std::vector<int> stream_priorities;    // kNoPriority for plain cuStreamCreate
  int attribute_priority = kNoPriority;  // as last set on any stream
  std::vector<CUdeviceptr> frees;

  // Graphs: nodes by graph; a node's kernel.
  std::map<CUgraph, std::vector<CUgraphNode>> graphs;
  std::map<CUgraphNode, CUDA_KERNEL_NODE_PARAMS> kernel_nodes;
  std::map<CUgraphNode, CUgraph> child_nodes;

  std::map<CUgraphNode, CUDA_MEMCPY3D> copy_nodes;
  CUresult new_node_params_result = CUDA_SUCCESS;  // of cuGraphKernelNodeGetParams_v2
  CUresult update_result = CUDA_SUCCESS;           // of cuGraphExecUpdate_v2
  std::map<CUgraphNode, CUDA_MEMSET_NODE_PARAMS> memset_nodes;
  std::map<CUgraphNode, CUgraphNodeType> other_nodes;

  // Captures, by the stream's handle.
  std::map<CUstream, CUstreamCaptureStatus> capturing;
  CUresult begin_capture_result = CUDA_SUCCESS;
  CUresult end_capture_result = CUDA_SUCCESS;
  bool end_capture_ends = true;           // also when it fails
  bool blocking_stream_captures = false;  // the legacy stream answers CAPTURE_IMPLICIT
  // Calls of the kind that a capture elsewhere forbids, made in another mode than relaxed.
  std::atomic<uint64_t> unsafe_calls{0};
  std::atomic<uint64_t> writes_into_captures{0};

  // Work not finished yet, when finish_at_once is off.
  struct Pending {
    uint64_t* word;
    uint64_t value;
    CUevent event;
  };
  std::mutex mutex;
  std::deque<Pending> pending;
  std::map<CUevent, bool> happened;
  uint64_t next_handle = 0x100000;

  void finish_one();
  void finish_all();
  uint64_t new_handle();
};

// The driver that the shim is using now; a fresh one after each reset_shim().
FakeDriver& fake();

// A shim as at program start over a fresh fake driver, and no daemon to be found.
void reset_shim();

// Only the shim's own state; the driver stays as it is. Set GACER_SOCKET first.
void reset_shim_state();

// The symbol's address in the fake driver; as given to install_driver().
void* fake_symbol(void* context, const char* symbol);

// A segment in ordinary memory, in force as if a daemon had handed it out. Lives until the process
// ends, as attachments do.
interpose::Attachment& attach_fake();

inline CUstream stream_number(uintptr_t number) {
  return reinterpret_cast<CUstream>(number * 0x1000);
}
inline CUfunction function_number(uintptr_t number) {
  return reinterpret_cast<CUfunction>(number * 0x1000);
}

// One decision of a pretended daemon.
void decide(abi::Segment& segment, abi::GateMode mode, uint64_t window_ns = 0, bool record = false,
            uint32_t mark_every = 0);

}  // namespace gacer::test
