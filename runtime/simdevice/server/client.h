// SPDX-License-Identifier: Apache-2.0
// One connected process: its socket, page, memory, contexts, streams, events and modules.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/engine/op_table.h"
#include "runtime/simdevice/server/client_memory.h"
#include "runtime/simdevice/server/client_page.h"
#include "runtime/simdevice/server/module_store.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {

struct StreamSlot {
  uint32_t engine_stream = 0;
  uint32_t context = 0;
  int32_t priority = 0;
  uint64_t last_seq = 0;
};

// Records of one event that may be pending: (generation, operation).
using EventSlot = std::vector<std::pair<uint64_t, OpId>>;

struct Client {
  Client(UniqueFd socket_fd, pid_t peer_pid, ClientPageOwner client_page, DeviceMemory& device)
      : socket(std::move(socket_fd)),
        pid(peer_pid),
        page(std::move(client_page)),
        memory(device, peer_pid) {}

  UniqueFd socket;
  pid_t pid;
  std::string label;
  ClientPageOwner page;
  ClientMemory memory;
  uint32_t engine_client = 0;  // 0 until hello
  bool mps = false;
  int sticky_error = 0;  // CUresult
  bool paused = false;   // not read from: too much pending
  int externals = 0;     // host functions and value waits that run
  std::set<uint32_t> contexts;
  std::unordered_map<uint32_t, StreamSlot> streams;
  std::unordered_map<uint32_t, EventSlot> events;
  std::unordered_map<uint64_t, std::shared_ptr<LoadedModule>> modules;
  std::unordered_map<uint64_t, OpId> host_functions;  // token -> running operation
};

struct KernelPayload {
  KernelOp op;
  std::shared_ptr<LoadedModule> module;
  std::vector<uint8_t> params;
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
// monostate: takes part in the order only (event wait, join).
using Payload = std::variant<std::monostate, KernelPayload, CopyOp, MemsetOp, RecordPayload,
                             WriteValuePayload, WaitValuePayload, HostFunctionOp>;

// A submitted operation; its index is the engine's cookie.
struct PendingOp {
  Client* client = nullptr;  // nullptr: free
  uint32_t stream = 0;
  uint64_t seq = 0;
  Payload payload;
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
