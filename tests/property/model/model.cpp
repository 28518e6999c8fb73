// SPDX-License-Identifier: Apache-2.0
// The device: what is done when, and its effects.
#include "tests/property/model/model.h"

#include <algorithm>
#include <cstring>

namespace gacer::property {
namespace {

uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

uint64_t digest_of(const uint8_t* bytes, uint64_t count) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (uint64_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
  return hash;
}

// Kernels with odd numbers depend on the order, others commute.
void run_kernel(uint32_t function, uint8_t* to, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i)
    to[i] = static_cast<uint8_t>(function % 2 == 1 ? to[i] * 31 + function : to[i] + function);
}

alignas(64) uint8_t host_bytes[Model::kHostBytes];

}  // namespace

uint8_t* Model::host_memory() {
  return host_bytes;
}

bool Model::ready(const Stream& stream) const {
  if (stream.queue.empty()) return false;
  const std::vector<uint64_t>& after = stream.queue.front().after;
  return std::none_of(after.begin(), after.end(),
                      [&](uint64_t id) { return state.pending.count(id) != 0; });
}

void Model::complete(Stream& stream) {
  const Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  perform(stream, operation.work);
  state.pending.erase(operation.id);
}

void Model::drain() {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto at = state.streams.begin(); at != state.streams.end();) {
      Stream& stream = at->second;
      while (ready(stream) && !stream.queue.front().work.takes_time()) {
        complete(stream);
        moved = true;
      }
      at = stream.gone && stream.queue.empty() ? state.streams.erase(at) : std::next(at);
    }
  }
}

bool Model::step() {
  drain();
  std::vector<Stream*> choice;
  for (auto& [order, stream] : state.streams)
    if (ready(stream)) choice.push_back(&stream);
  if (choice.empty()) return false;
  complete(*choice[mix(seed_ ^ ++done_) % choice.size()]);
  drain();
  return true;
}

void Model::finish() {
  while (step()) {
  }
  for (const auto& [order, stream] : state.streams)
    if (!stream.queue.empty()) violation("work is left that can never be done");
}

uint8_t* Model::memory_at(uint64_t address, uint64_t bytes) {
  const auto host = reinterpret_cast<uint64_t>(host_bytes);
  if (address >= host && address + bytes <= host + kHostBytes) return host_bytes + (address - host);
  auto at = state.memory.upper_bound(address);
  if (at == state.memory.begin()) return nullptr;
  --at;
  std::vector<uint8_t>& owner = at->second.bytes;
  const uint64_t offset = address - at->first;
  if (offset > owner.size() || bytes > owner.size() - offset) return nullptr;
  return owner.data() + offset;
}

// Digest of what was written; 0: the address is bad, nothing happens.
uint64_t Model::work_on_memory(const Work& work) {
  uint64_t digest = 0;
  for (uint64_t row = 0; row < work.rows; ++row) {
    uint8_t* to = memory_at(work.to + row * work.to_pitch, work.bytes);
    if (to == nullptr) return 0;
    if (work.kind == Work::Kind::kKernel) run_kernel(work.function, to, work.bytes);
    if (work.kind == Work::Kind::kSet || work.kind == Work::Kind::kWrite)
      for (uint64_t i = 0; i < work.bytes; ++i)
        to[i] = static_cast<uint8_t>(work.value >> 8 * (i % work.element));
    if (work.kind == Work::Kind::kCopy) {
      const uint8_t* from = memory_at(work.from + row * work.from_pitch, work.bytes);
      if (from == nullptr) return 0;
      memmove(to, from, work.bytes);
    }
    digest = mix(digest ^ digest_of(to, work.bytes)) | 1;
  }
  return digest;
}

void Model::perform_graph(const Stream& stream, const Work& work) {
  const size_t before = effects.size();
  for (const Work& part : *work.graph) perform(stream, part);
  for (size_t i = before; i < effects.size(); ++i) effects[i].kind = Work::Kind::kGraph;
}

void Model::perform(const Stream& stream, const Work& work) {
  using Kind = Work::Kind;
  switch (work.kind) {
    case Kind::kEvent:
    case Kind::kWait:
      return;
    case Kind::kMark:
      __atomic_store_n(reinterpret_cast<uint64_t*>(work.to), work.value, __ATOMIC_RELAXED);
      return;
    case Kind::kGraph:
      perform_graph(stream, work);
      return;
    case Kind::kHost:
      work.host(work.host_data);
      break;
    case Kind::kFree: {
      const auto found = state.memory.find(work.to);
      if (found != state.memory.end()) {
        state.used_bytes -= found->second.bytes.size();
        state.memory.erase(found);
      }
      break;
    }
    default: {
      effects.push_back({stream.order, work.kind, work.function, work.to, work_on_memory(work)});
      return;
    }
  }
  effects.push_back({stream.order, work.kind, work.function, work.to, 0});
}

std::vector<uint64_t> Model::digest() const {
  std::vector<uint64_t> words = {state.used_bytes, digest_of(host_bytes, kHostBytes)};
  const auto keys = [&](uint64_t tag, const auto& map) {
    words.push_back(tag);
    for (const auto& [key, value] : map) words.push_back(key);
  };
  keys(1, state.contexts);
  keys(2, state.stream_orders);
  keys(3, state.events);
  keys(4, state.captures);
  keys(5, state.graphs);
  keys(6, state.nodes);
  keys(7, state.execs);
  // Not those that a library has been turned into: the shim may have asked for them.
  for (const auto& [handle, module] : state.modules) {
    if (module.library != 0) continue;
    words.push_back(handle);
    for (const auto& [name, function] : module.functions) words.push_back(function);
  }
  keys(10, state.libraries);
  keys(11, state.kernels);
  keys(12, state.pools);
  keys(13, state.physical);
  keys(14, state.reservations);
  words.insert(words.end(), state.registered.begin(), state.registered.end());
  for (const auto& [address, allocation] : state.memory) {
    words.push_back(address);
    words.push_back(digest_of(allocation.bytes.data(), allocation.bytes.size()));
  }
  return words;
}

}  // namespace gacer::property
