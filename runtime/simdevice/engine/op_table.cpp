// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/op_table.h"

#include <algorithm>

namespace gacer::simdevice {
namespace {
constexpr size_t kSpareOps = 4096;
}

uint32_t OpTable::add_stream(uint32_t client, uint32_t context, StreamKind kind, int32_t priority,
                             const SmMask& sms) {
  const uint32_t id = next_stream_++;
  streams_[id] = Stream{client, context, kind, priority, sms};
  Context& owner = contexts_[context_key(client, context)];
  if (kind == StreamKind::kBlocking) owner.blocking.push_back(id);
  if (kind == StreamKind::kLegacy) owner.legacy = id;
  return id;
}

void OpTable::remove_stream(uint32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  found->second.removed = true;
  if (found->second.tail == 0) forget_stream(id);
}

void OpTable::forget_stream(uint32_t id) {
  const Stream& stream = streams_[id];
  const auto owner = contexts_.find(context_key(stream.client, stream.context));
  if (owner != contexts_.end()) {
    std::erase(owner->second.blocking, id);
    if (owner->second.legacy == id) owner->second.legacy = 0;
    if (owner->second.blocking.empty() && owner->second.legacy == 0) contexts_.erase(owner);
  }
  streams_.erase(id);
}

const OpTable::Stream* OpTable::stream(uint32_t id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : &found->second;
}

Op* OpTable::find(OpId id) {
  const auto found = ops_.find(id);
  return found == ops_.end() ? nullptr : found->second.get();
}

const Op* OpTable::find(OpId id) const {
  return const_cast<OpTable*>(this)->find(id);
}

void OpTable::depend(Op& op, OpId on) {
  Op* before = find(on);
  if (before == nullptr) return;
  before->dependents.push_back(op.id);
  ++op.unresolved;
}

void OpTable::depend_on_legacy_rule(Op& op, const Stream& stream) {
  if (stream.kind == StreamKind::kNonBlocking) return;
  const Context& context = contexts_[context_key(stream.client, stream.context)];
  if (stream.kind == StreamKind::kLegacy) {
    for (const uint32_t other : context.blocking) depend(op, streams_[other].tail);
  } else if (context.legacy != 0) {
    depend(op, streams_[context.legacy].tail);
  }
}

Op& OpTable::add(const OpSpec& spec, uint64_t now_ns) {
  std::unique_ptr<Op> fresh;
  if (spare_.empty()) {
    fresh = std::make_unique<Op>();
  } else {
    fresh = std::move(spare_.back());
    spare_.pop_back();
  }
  Stream& stream = streams_[spec.stream];
  fresh->id = next_op_++;
  fresh->spec = spec;
  fresh->client = stream.client;
  fresh->state = OpState::kWaiting;
  fresh->expected = false;
  fresh->unresolved = 0;
  fresh->submit_ns = now_ns;
  fresh->start_ns = now_ns;
  fresh->dependents.clear();
  Op& op = *fresh;
  ops_[op.id] = std::move(fresh);
  depend(op, stream.tail);
  depend_on_legacy_rule(op, stream);
  depend(op, spec.wait_for);
  stream.tail = op.id;
  return op;
}

void OpTable::erase(Op& op) {
  const auto stream = streams_.find(op.spec.stream);
  if (stream != streams_.end() && stream->second.tail == op.id) {
    stream->second.tail = 0;
    if (stream->second.removed) forget_stream(op.spec.stream);
  }
  const auto found = ops_.find(op.id);
  if (spare_.size() < kSpareOps) spare_.push_back(std::move(found->second));
  ops_.erase(found);
}

void OpTable::erase_client(uint32_t client, std::vector<std::unique_ptr<Op>>& erased) {
  for (auto entry = ops_.begin(); entry != ops_.end();) {
    if (entry->second->client != client) {
      ++entry;
      continue;
    }
    erased.push_back(std::move(entry->second));
    entry = ops_.erase(entry);
  }
  std::erase_if(streams_, [client](const auto& entry) { return entry.second.client == client; });
  std::erase_if(contexts_, [client](const auto& entry) { return entry.first >> 32 == client; });
}

}  // namespace gacer::simdevice
