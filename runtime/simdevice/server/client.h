// SPDX-License-Identifier: Apache-2.0
// One connected process: its socket, page, memory, contexts, streams, events and modules.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/engine/engine.h"
#include "runtime/simdevice/exec/device_heap.h"
#include "runtime/simdevice/exec/texture/texture_table.h"
#include "runtime/simdevice/server/client_memory.h"
#include "runtime/simdevice/server/client_page.h"
#include "runtime/simdevice/server/module_store.h"
#include "runtime/simdevice/server/share_registry.h"
#include "runtime/simdevice/server/trace_ring.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {

struct StreamSlot {
  Engine* engine = nullptr;
  uint32_t engine_stream = 0;
  uint32_t context = 0;
  int32_t priority = 0;
  uint64_t last_seq = 0;
};

// Records of one event that may be pending: (generation, operation).
using EventSlot = std::vector<std::pair<uint64_t, EngineOp>>;

struct Client {
  Client(UniqueFd socket_fd, pid_t peer_pid, ClientPageOwner client_page,
         std::span<DeviceMemory> devices)
      : socket(std::move(socket_fd)),
        pid(peer_pid),
        page(std::move(client_page)),
        memory(devices, peer_pid) {}

  bool known() const { return !engine_clients.empty() || observer; }
  // Names it in the timeline.
  uint32_t id() const { return engine_clients.front(); }

  UniqueFd socket;
  pid_t pid;
  std::string label;
  ClientPageOwner page;
  ClientMemory memory;
  std::vector<uint32_t> engine_clients;  // by device; empty until hello
  bool observer = false;                 // has no engine client and asks for figures only
  bool mps = false;
  std::array<uint64_t, kMaxDevices> mps_memory_limit{};  // 0: none
  int sticky_error = 0;                                  // CUresult
  bool device_fault = false;    // the error is a fault of the device in this client's work
  bool fault_of_other = false;  // ... of another MPS client's
  bool paused = false;          // not read from: too much pending
  int externals = 0;            // host functions and value waits that run
  uint64_t context_bytes = 0;   // charged for each context
  uint64_t pool_block_bytes = MemoryPool::kUsualBlockBytes;
  uint64_t module_bytes = 0;  // charged for each module besides its variables
  std::unordered_map<uint32_t, StreamSlot> streams;
  std::unordered_map<uint32_t, EventSlot> events;
  std::unordered_map<uint64_t, std::shared_ptr<LoadedModule>> modules;
  std::unordered_map<uint64_t, EngineOp> host_functions;  // token -> running operation
  std::map<uint64_t, std::shared_ptr<Backing>> handles;   // of physical memory
  std::map<uint64_t, std::shared_ptr<MemoryPool>> pools;
  std::map<uint32_t, std::shared_ptr<SharedEvent>> shared_events;
  uint64_t next_handle = 1;  // for all of these
  // By context; a launch keeps the table it was sent with, so a shared one is copied to change.
  std::map<uint32_t, std::shared_ptr<TextureTable>> textures;
  uint64_t next_texture = 1;
  uint32_t texture_count = 0;
  UniqueFd print_file;  // invalid: nobody reads what kernels print
  std::map<uint32_t, std::unique_ptr<DeviceHeap>> heaps;  // by context; made when first used
  std::unique_ptr<TraceRing> trace;                       // since it was first asked for
  bool tracing = false;
};

using Clients = std::unordered_map<int, std::unique_ptr<Client>>;  // by socket

struct KernelPayload {
  KernelOp op;
  std::shared_ptr<LoadedModule> module;
  std::vector<uint8_t> params;
  std::shared_ptr<const TextureTable> textures;
};
struct RecordPayload {
  EventOp op;
};
struct WaitValuePayload {
  ValueOp op;
};
struct WriteValuePayload {
  ValueOp op;
};
// Waits for an operation of another device.
struct RemoteWaitPayload {
  EngineOp op;
};
// monostate: takes part in the order only (event wait, join).
using Payload =
    std::variant<std::monostate, KernelPayload, CopyOp, MemsetOp, RecordPayload, WriteValuePayload,
                 WaitValuePayload, RemoteWaitPayload, HostFunctionOp>;

// A submitted operation; its index is the engine's cookie.
struct PendingOp {
  Client* client = nullptr;  // nullptr: free
  Engine* engine = nullptr;
  uint32_t stream = 0;
  uint64_t seq = 0;
  Payload payload;
  uint64_t memory_bytes = 0;  // moved to or from device memory, once it has started
  bool kernel_runs = false;
  bool traced = false;          // its client wants to know when it ran
  uint64_t host_offset_ns = 0;  // from model time to CLOCK_REALTIME; set when traced
};

class PendingOps {
 public:
  uint64_t add(PendingOp op);
  PendingOp& at(uint64_t cookie) { return ops_[cookie]; }
  void release(uint64_t cookie);
  void release_client(const Client* client);

 private:
  std::vector<PendingOp> ops_;
  std::vector<uint64_t> free_;
};

}  // namespace gacer::simdevice
