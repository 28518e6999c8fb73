// SPDX-License-Identifier: Apache-2.0
// An engine in virtual time whose kernels are described by the test, and a record of what it did.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/simdevice/engine/engine.h"

namespace gacer::simdevice::test {

struct Span {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t effect_ns = 0;  // when op_started was called
};

class Harness final : public EngineHost {
 public:
  explicit Harness(std::string_view device_key = "A100")
      : device(*find_device_model(device_key)), engine(device, *this) {}

  StartResult op_started(const Op& op, uint64_t at_ns) override {
    spans[op.id].effect_ns = at_ns;
    started.push_back(op.id);
    StartResult result;
    if (op.spec.kind == OpKind::kKernel) result.kernel = kernels.at(op.spec.cookie);
    return result;
  }
  void op_ended(const Op& op, uint64_t start_ns, uint64_t end_ns) override {
    spans[op.id].start_ns = start_ns;
    spans[op.id].end_ns = end_ns;
    ended.push_back(op.id);
  }

  uint32_t client(bool mps, uint32_t sm_cap = 0) { return engine.add_client({mps, sm_cap, 0}); }
  uint32_t stream(uint32_t client, StreamKind kind = StreamKind::kNonBlocking,
                  int32_t priority = 0) {
    return engine.add_stream(client, 0, kind, priority);
  }

  // A kernel whose blocks last `block_ns` each when nothing holds them back.
  OpId kernel(uint32_t stream, uint64_t blocks, double block_ns, uint32_t threads = 1024,
              int32_t priority = 0) {
    KernelCost cost;
    cost.threads = threads;
    cost.alone_ns = block_ns;
    return kernel_of(stream, blocks, cost, priority);
  }
  OpId kernel_of(uint32_t stream, uint64_t blocks, const KernelCost& cost, int32_t priority = 0) {
    OpSpec spec;
    spec.stream = stream;
    spec.kind = OpKind::kKernel;
    spec.priority = priority;
    spec.cookie = kernels.size();
    kernels[spec.cookie] = StartedKernel{cost, blocks};
    return engine.submit(spec, now_ns);
  }
  OpId copy(uint32_t stream, OpKind kind, uint64_t bytes, bool pinned = true) {
    OpSpec spec;
    spec.stream = stream;
    spec.kind = kind;
    spec.bytes = bytes;
    spec.pinned = pinned;
    return engine.submit(spec, now_ns);
  }
  OpId instant(uint32_t stream, OpId wait_for = 0) {
    OpSpec spec;
    spec.stream = stream;
    spec.wait_for = wait_for;
    return engine.submit(spec, now_ns);
  }
  OpId external(uint32_t stream) {
    OpSpec spec;
    spec.stream = stream;
    spec.kind = OpKind::kExternal;
    return engine.submit(spec, now_ns);
  }

  void advance_to(uint64_t to_ns) {
    now_ns = to_ns;
    engine.advance_to(to_ns);
  }
  // Until nothing is due any more; false when that does not happen within `limit_ns` of model time.
  bool run_dry(uint64_t limit_ns = 60'000'000'000) {
    const uint64_t until = now_ns + limit_ns;
    while (engine.next_event_ns() != kNever) {
      if (engine.next_event_ns() > until) return false;
      advance_to(engine.next_event_ns());
    }
    return true;
  }
  bool is_done(OpId op) const { return spans.contains(op) && spans.at(op).end_ns != 0; }
  uint64_t start_of(OpId op) const { return spans.at(op).start_ns; }
  uint64_t end_of(OpId op) const { return spans.at(op).end_ns; }
  uint64_t duration_of(OpId op) const { return end_of(op) - start_of(op); }

  const DeviceModel& device;
  std::map<uint64_t, StartedKernel> kernels;
  std::map<OpId, Span> spans;
  std::vector<OpId> started, ended;
  uint64_t now_ns = 1000;
  Engine engine;
};

inline bool overlap(const Harness& harness, OpId a, OpId b) {
  return harness.start_of(a) < harness.end_of(b) && harness.start_of(b) < harness.end_of(a);
}

}  // namespace gacer::simdevice::test
