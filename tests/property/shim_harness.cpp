// SPDX-License-Identifier: Apache-2.0
#include "tests/property/shim_harness.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <unordered_map>

#include "interpose/driver.h"
#include "interpose/proc_address.h"
#include "interpose/shim.h"
#include "runtime/shm/segment_format.h"
#include "tests/property/model/call.h"
#include "tests/unit/interpose/fake_driver.h"

namespace gacer::property {
namespace {

using abi::GateMode;
using interpose::Attachment;

// Attachments are never freed in a real process, so their memory is ours to use again.
struct alignas(4096) Place {
  alignas(4096) unsigned char segment[(sizeof(abi::Segment) + 4095) / 4096 * 4096];
  alignas(64) unsigned char attachment[sizeof(Attachment)];
};
Place places[ShimHarness::kMostAttachments];

template <typename Function>
void override(Function& slot, const char* symbol) {
  static const auto hooks = [] {
    std::unordered_map<std::string, void*> found;
    const interpose::HookTable table = interpose::hook_table();
    for (uint32_t i = 0; i < table.count; ++i) found[table.rows[i].symbol] = table.rows[i].hook;
    return found;
  }();
  const auto hook = hooks.find(symbol);
  if (hook != hooks.end()) memcpy(&slot, &hook->second, sizeof slot);
}

ModelTable make_shim_table() {
  ModelTable table = model_table();
#define GACER_MODEL(symbol, implementation, per_thread, helper) override(table.symbol, #symbol);
#include "tests/property/model/symbols.def"
  return table;
}

const interpose::DriverTable& table_over_model() {
  static const interpose::DriverTable table = [] {
    interpose::DriverTable made;
    interpose::fill_driver_table(made, &model_symbol, nullptr, CUDA_ERROR_NOT_SUPPORTED);
    return made;
  }();
  return table;
}

Attachment* current() {
  return interpose::shim().session.current();
}

}  // namespace

const ModelTable& shim_table() {
  static const ModelTable table = make_shim_table();
  return table;
}

ShimHarness::ShimHarness(Model& model, bool attached) : model_(model) {
  model.shim_memory = reinterpret_cast<uint64_t>(places);
  model.shim_memory_bytes = sizeof places;
  setenv("GACER_SOCKET", "/nonexistent/gacer.sock", 1);
  test::reset_shim_state();
  interpose::shim().kernels.reset();
  interpose::install_driver(table_over_model(), &model_symbol, nullptr);
  if (attached) attach();
}

// What a program has not destroyed at its end would count as leaked here, not in a process that
// ends.
ShimHarness::~ShimHarness() {
  for (const auto& [exec, unused] : model_.state.execs) {
    CUgraphExec handle = nullptr;
    answer(&handle, exec);
    interpose::shim().graphs.destroyed(handle);
  }
  interpose::shim().session.publish(nullptr);
}

void ShimHarness::attach() {
  if (attachments_ == kMostAttachments) return;
  Place& place = places[attachments_++];
  auto* segment = new (place.segment) abi::Segment();
  memset(place.segment, 0, sizeof place.segment);
  shm::format_segment(*segment, 1, 1);
  segment->gate.max_wait_ns.store(1'000);
  segment->gate.stream_priority.store(abi::kPriorityKeep);
  interpose::shim().session.publish(new (place.attachment) Attachment(*segment, nullptr, -1));
}

void ShimHarness::detach() {
  interpose::shim().session.publish(nullptr);
}

abi::Segment& ShimHarness::segment() {
  return *reinterpret_cast<abi::Segment*>(places[attachments_ - 1].segment);
}

void ShimHarness::decide(const uint32_t (&random)[6]) {
  constexpr GateMode kModes[] = {GateMode::kUngated, GateMode::kWindow, GateMode::kWindow,
                                 GateMode::kClosed, GateMode::kUngated};
  constexpr uint64_t kWindows[] = {0, 2'000, 10'000, 1'000'000'000};
  constexpr uint64_t kWaits[] = {0, 1'000, 1'000, 25'000};
  constexpr int32_t kPriorities[] = {abi::kPriorityKeep, abi::kPriorityKeep, 0, -1, 1};
  const uint32_t event = random[0] % 16;
  if (event == 0) return detach();
  if (event == 1 || current() == nullptr) return attach();
  abi::GateWords& gate = segment().gate;
  gate.max_wait_ns.store(kWaits[random[1] % 4], std::memory_order_relaxed);
  gate.stream_priority.store(kPriorities[random[2] % 5], std::memory_order_relaxed);
  for (uint32_t i = 0; i < 8; ++i)
    segment().costs.cost_ns[i].store(random[3] >> i & 1 ? random[4] % 100'000 : 0,
                                     std::memory_order_relaxed);
  const GateMode mode = event == 2 ? GateMode::kDetached : kModes[random[5] % 5];
  test::decide(segment(), mode, kWindows[random[1] / 4 % 4], random[2] / 8 % 2 == 0,
               random[3] / 256 % 4);
}

}  // namespace gacer::property
