// SPDX-License-Identifier: Apache-2.0
// Operations and what each waits for: stream order, the legacy default stream, recorded events.
//
// Legacy stream rule (CUDA Programming Guide, "Default Stream"): an operation on it waits for all
// earlier operations of the context's blocking streams, and later operations of these wait for it.
// Non-blocking streams are left alone.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/simdevice/engine/sm_mask.h"

namespace gacer::simdevice {

using OpId = uint64_t;  // 0: none; increasing in order of submission

enum class StreamKind : uint8_t { kBlocking, kNonBlocking, kLegacy };

enum class OpKind : uint8_t {
  kKernel,
  kCopyToDevice,
  kCopyToHost,
  kCopyOnDevice,
  kCopyOnHost,
  kMemset,
  kInstant,   // event record and wait, value write, join: takes no time
  kExternal,  // host function, value wait: ends when finish_external() says so
};

struct OpSpec {
  uint32_t stream = 0;
  OpKind kind = OpKind::kInstant;
  bool from_graph = false;
  bool pinned = true;    // copies
  int32_t priority = 0;  // kernels; lower number first
  uint64_t bytes = 0;    // copies and memsets
  OpId wait_for = 0;     // further operation of the same client that must have ended
  uint64_t cookie = 0;   // the owner's
};

enum class OpState : uint8_t { kWaiting, kDue, kQueued, kRunning };

struct Op {
  OpId id = 0;
  OpSpec spec;
  uint32_t client = 0;
  OpState state = OpState::kWaiting;
  bool expected = false;  // told to SmArray::expect_run()
  uint32_t unresolved = 0;
  uint64_t submit_ns = 0;
  uint64_t start_ns = 0;
  std::vector<OpId> dependents;
};

class OpTable {
 public:
  uint32_t add_stream(uint32_t client, uint32_t context, StreamKind kind, int32_t priority,
                      const SmMask& sms = {});
  void remove_stream(uint32_t stream);

  // nullptr for an unknown stream or operation.
  struct Stream {
    uint32_t client = 0;
    uint32_t context = 0;
    StreamKind kind = StreamKind::kBlocking;
    int32_t priority = 0;
    SmMask sms;            // where its kernels may run
    OpId tail = 0;         // last pending operation
    bool removed = false;  // kept until its tail has ended
  };
  const Stream* stream(uint32_t id) const;
  Op* find(OpId id);
  const Op* find(OpId id) const;

  // Enters the operation with all its dependencies. Precondition: stream exists and is not removed.
  Op& add(const OpSpec& spec, uint64_t now_ns);
  // Takes the operation out, after its dependents were released.
  void erase(Op& op);
  // Forgets the client's streams and operations; moves the latter to `erased`.
  void erase_client(uint32_t client, std::vector<std::unique_ptr<Op>>& erased);

 private:
  struct Context {
    std::vector<uint32_t> blocking;  // stream ids
    uint32_t legacy = 0;
  };
  static uint64_t context_key(uint32_t client, uint32_t context) {
    return uint64_t{client} << 32 | context;
  }
  void depend(Op& op, OpId on);
  void depend_on_legacy_rule(Op& op, const Stream& stream);
  void forget_stream(uint32_t id);

  std::unordered_map<uint32_t, Stream> streams_;
  std::unordered_map<uint64_t, Context> contexts_;
  std::unordered_map<OpId, std::unique_ptr<Op>> ops_;
  std::vector<std::unique_ptr<Op>> spare_;
  OpId next_op_ = 1;
  uint32_t next_stream_ = 1;
};

}  // namespace gacer::simdevice
