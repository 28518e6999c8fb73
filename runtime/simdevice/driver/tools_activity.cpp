// SPDX-License-Identifier: Apache-2.0
// When submitted work ran: what was sent (here) and when it ran (the server's ring) meet by stream
// and sequence number, in either order.
#include <sys/mman.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/module.h"
#include "runtime/simdevice/driver/tools_call.h"

namespace gacer::simdriver {
namespace {

using simdevice::ToolsActivity;
using simdevice::ToolsActivityKind;
using simdevice::TracePage;
using simdevice::TraceRecord;

// CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind.
enum CopyKindId : uint32_t {
  kCopyHtoD = 1,
  kCopyDtoH = 2,
  kCopyHtoA = 3,
  kCopyAtoH = 4,
  kCopyAtoA = 5,
  kCopyAtoD = 6,
  kCopyDtoA = 7,
  kCopyDtoD = 8,
  kCopyHtoH = 9,
  kCopyPtoP = 10
};
enum MemoryKindId : uint32_t { kPageable = 1, kPinned = 2, kDevice = 3, kArray = 4, kManaged = 5 };

// Above this many unmatched operations the submitting thread looks whether some have ended, so that
// the ring never fills.
constexpr size_t kDrainAbove = simdevice::kTraceRecords / 4;

using Key = std::pair<uint32_t, uint64_t>;  // stream of the protocol, sequence number

struct Trace {
  std::mutex mutex;
  TracePage* page = nullptr;
  uint64_t taken = 0;
  std::map<Key, ToolsActivity> sent;
  std::map<Key, TraceRecord> ran;
};
Trace& trace() {
  static Trace& state = *new Trace;
  return state;
}

void complete(ToolsActivity& activity, const TraceRecord& record) {
  activity.start_ns = record.start_ns;
  activity.end_ns = record.end_ns;
}

// Takes what the server has written; the lock is held.
void take_records(Trace& state, std::vector<ToolsActivity>& done) {
  if (state.page == nullptr) return;
  // Acquire pairs with the server's release: the records are complete.
  const uint64_t written = state.page->written.load(std::memory_order_acquire);
  for (; state.taken < written; ++state.taken) {
    const TraceRecord record = state.page->records[state.taken % simdevice::kTraceRecords];
    const auto sent = state.sent.find({record.stream, record.seq});
    if (sent == state.sent.end()) {
      state.ran[{record.stream, record.seq}] = record;
      continue;
    }
    complete(sent->second, record);
    done.push_back(sent->second);
    state.sent.erase(sent);
  }
  state.page->taken.store(state.taken,
                          std::memory_order_release);  // pairs with the server's acquire
}

void report(const std::vector<ToolsActivity>& done) {
  const auto handler = tools_hooks.on_activity.load(std::memory_order_acquire);
  if (handler == nullptr) return;
  for (const ToolsActivity& activity : done) handler(activity);
}

uint32_t memory_kind(uint64_t address) {
  const auto known = Driver::get().memory.find(address);
  if (!known) return kPageable;
  if (known->kind == MemoryKind::kManaged) return kManaged;
  return known->on_device() ? kDevice : kPinned;
}

uint32_t side_kind(const CopyWork& work, bool source) {
  if (work.description != nullptr) {
    const CUmemorytype type =
        source ? work.description->srcMemoryType : work.description->dstMemoryType;
    if (type == CU_MEMORYTYPE_ARRAY) return kArray;
  }
  return memory_kind(source ? work.src : work.dst);
}

bool crosses_devices(const CopyWork& work) {
  const auto from = Driver::get().memory.find(work.src);
  const auto to = Driver::get().memory.find(work.dst);
  return from && to && from->device != to->device;
}

uint32_t copy_kind(const CopyWork& work, uint32_t from, uint32_t to) {
  switch (work.kind) {
    case simdevice::CopyKind::kHtoD:
      return to == kArray ? kCopyHtoA : kCopyHtoD;
    case simdevice::CopyKind::kDtoH:
      return from == kArray ? kCopyAtoH : kCopyDtoH;
    case simdevice::CopyKind::kHtoH:
      return kCopyHtoH;
    default:
      break;
  }
  if (from == kArray) return to == kArray ? kCopyAtoA : kCopyAtoD;
  if (to == kArray) return kCopyDtoA;
  return crosses_devices(work) ? kCopyPtoP : kCopyDtoD;
}

void describe(const KernelWork& work, ToolsActivity& activity) {
  const KernelDescription& info = work.function->info;
  activity.kind = ToolsActivityKind::kKernel;
  activity.name = lasting_text(info.name);
  for (size_t axis = 0; axis < 3; ++axis) {
    activity.grid[axis] = work.grid[axis];
    activity.block[axis] = work.block[axis];
  }
  activity.registers_per_thread = info.regs;
  activity.static_smem_bytes = info.static_smem_bytes;
  activity.dynamic_smem_bytes = work.dynamic_smem_bytes;
  activity.local_bytes_per_thread = info.local_bytes;
}

void describe(const CopyWork& work, ToolsActivity& activity) {
  activity.kind = ToolsActivityKind::kMemcpy;
  activity.bytes = work.width_bytes * work.height * work.depth;
  activity.src_kind = side_kind(work, true);
  activity.dst_kind = side_kind(work, false);
  activity.copy_kind = copy_kind(work, activity.src_kind, activity.dst_kind);
}

void describe(const MemsetWork& work, ToolsActivity& activity) {
  activity.kind = ToolsActivityKind::kMemset;
  activity.bytes = work.width_elements * work.element_bytes * work.height;
  activity.value = work.value;
  activity.dst_kind = memory_kind(work.dst);
}

// False: work that the server does not record.
bool describe(const Work& work, ToolsActivity& activity) {
  if (const auto* kernel = std::get_if<KernelWork>(&work)) return describe(*kernel, activity), true;
  if (const auto* copy = std::get_if<CopyWork>(&work)) return describe(*copy, activity), true;
  if (const auto* memset = std::get_if<MemsetWork>(&work)) return describe(*memset, activity), true;
  return false;
}

void place(const Stream& stream, ToolsActivity& activity) {
  activity.correlation_id = call_correlation();
  activity.stream_id = static_cast<uint32_t>(stream.unique_id);
  if (const auto context = stream.context.lock()) {
    activity.context_id = static_cast<uint32_t>(context->unique_id());
    activity.device = static_cast<uint32_t>(context->device());
  }
}

}  // namespace

CUresult set_trace(bool on) {
  Trace& state = trace();
  const std::lock_guard lock(state.mutex);
  if (server_traces() == on) return CUDA_SUCCESS;
  auto message = make_message<simdevice::TraceMsg>(simdevice::SimType::kTrace);
  message.enable = on ? 1 : 0;
  const Reply reply = Driver::get().link().request(message);
  if (reply.error != CUDA_SUCCESS) return reply.error;
  trace_wanted.store(on, std::memory_order_relaxed);
  if (state.page != nullptr) return CUDA_SUCCESS;
  void* page =
      mmap(nullptr, sizeof(TracePage), PROT_READ | PROT_WRITE, MAP_SHARED, reply.fd.get(), 0);
  if (page == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  state.page = static_cast<TracePage*>(page);
  return CUDA_SUCCESS;
}

void note_submitted(const Stream& stream, uint64_t seq, const Work& work) {
  ToolsActivity activity;
  if (!describe(work, activity)) return;
  place(stream, activity);
  const Key key{stream.counter->id, seq};
  std::vector<ToolsActivity> done;
  {
    Trace& state = trace();
    const std::lock_guard lock(state.mutex);
    if (const auto ran = state.ran.find(key); ran != state.ran.end()) {
      complete(activity, ran->second);
      state.ran.erase(ran);
      done.push_back(activity);
    } else {
      state.sent.emplace(key, activity);
    }
    if (state.sent.size() > kDrainAbove) take_records(state, done);
  }
  report(done);
}

void drain_trace() {
  std::vector<ToolsActivity> done;
  {
    Trace& state = trace();
    const std::lock_guard lock(state.mutex);
    take_records(state, done);
  }
  report(done);
}

}  // namespace gacer::simdriver
