// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/context.h"

#include <algorithm>

#include "runtime/simdevice/driver/array.h"
#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/device_words.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/host_memory.h"
#include "runtime/simdevice/driver/ipc.h"
#include "runtime/simdevice/driver/module.h"

namespace gacer::simdriver {
namespace {

// Defaults of the real driver.
std::array<size_t, CU_LIMIT_MAX> default_limits() {
  std::array<size_t, CU_LIMIT_MAX> limits{};
  limits[CU_LIMIT_STACK_SIZE] = 1024;
  limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
  limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
  limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
  limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
  limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
  return limits;
}

using ContextStack = std::vector<std::shared_ptr<Context>>;

// A plain pointer: it is still there for destructors of the program that run after thread storage
// is gone.
thread_local ContextStack* contexts_here = nullptr;

struct ContextStackOwner {
  ~ContextStackOwner() {
    delete contexts_here;
    contexts_here = nullptr;
  }
};

// The stack of current contexts of one thread; empty again once the thread ends.
ContextStack& stack() {
  [[maybe_unused]] thread_local ContextStackOwner owner;
  if (contexts_here == nullptr) contexts_here = new ContextStack;
  return *contexts_here;
}

}  // namespace

Context::Context(uint32_t id, CUdevice device, Kind kind, unsigned flags, unsigned api_version,
                 const simdevice::SmMask& sms)
    : id_(id),
      device_(device),
      kind_(kind),
      sms_(sms),
      flags_(flags),
      api_version_(api_version),
      unique_id_(Driver::get().next_unique_id()),
      limits_(default_limits()) {}

Context::Context(std::shared_ptr<Context> base, const simdevice::SmMask& sms)
    : id_(base->id()),
      device_(base->device()),
      kind_(Kind::kGreen),
      base_(std::move(base)),
      sms_(sms),
      flags_(base_->flags()),
      api_version_(base_->api_version()),
      unique_id_(Driver::get().next_unique_id()),
      limits_(default_limits()) {}

CUresult Context::open() {
  if (!green()) SIM_TRY(open_on_server());
  legacy_ = std::make_shared<Stream>();
  legacy_->context = weak_from_this();
  legacy_->context_id = id_;
  legacy_->legacy = true;
  legacy_->unique_id = Driver::get().next_unique_id();
  return open_legacy_stream(*legacy_);
}

CUresult Context::open_on_server() {
  Driver& driver = Driver::get();
  auto message = make_message<simdevice::ContextMsg>(simdevice::SimType::kContextCreate);
  message.context = id_;
  message.flags = flags_;
  message.device = driver.index_of(device_);
  return driver.link().request(message).error;
}

// Its streams stay as handles that answer CUDA_ERROR_CONTEXT_IS_DESTROYED.
CUresult Context::close_green() {
  const CUresult finished = synchronize();
  Driver::get().streams.for_each([this](Stream& stream) {
    if (stream.context.lock().get() == this) end_stream(stream);
  });
  end_stream(*legacy_);
  if (gather != nullptr) end_stream(*gather);
  return finished;
}

CUresult Context::close() {
  Driver& driver = Driver::get();
  if (closed_.exchange(true, std::memory_order_acq_rel)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (green()) return close_green();
  const CUresult finished = synchronize();
  invalidate_captures_of(id_);
  const auto of_context = [this](const auto& object) { return object.context_id == id_; };
  driver.streams.remove_if([&](Stream& stream) {
    if (of_context(stream)) end_stream(stream);
    return of_context(stream);
  });
  driver.events.remove_if([&](Event& event) {
    if (of_context(event)) end_event(event);
    return of_context(event);
  });
  modules().remove_context(id_);
  forget_arrays_of(id_);
  forget_ipc_of(id_);
  forget_device_words(unique_id_);
  for (const Allocation& allocation : driver.memory.remove_context(id_))
    if (!allocation.on_device()) release_host(allocation);
  auto message = make_message<simdevice::ContextMsg>(simdevice::SimType::kContextDestroy);
  message.context = id_;
  const CUresult answered = driver.link().request(message).error;
  retire_streams();
  return finished != CUDA_SUCCESS ? finished : answered;
}

// The legacy stream and those of threads; the others have been ended one by one.
void Context::retire_streams() {
  const std::lock_guard lock(mutex_);
  for (auto& counter : counters_)
    if (counter->id != 0 && Driver::get().link().forget_stream(*counter))
      Driver::get().stream_ids.retire(std::move(counter));
  counters_.clear();
}

void Context::track(std::shared_ptr<StreamCounter> counter) {
  if (base_ != nullptr) base_->track(counter);  // whose synchronisation covers it
  const std::lock_guard lock(mutex_);
  counters_.push_back(std::move(counter));
}

std::vector<std::shared_ptr<StreamCounter>> Context::busy_streams() {
  const auto done = [](const auto& counter) {
    return Driver::get().link().stream_done(counter->id,
                                            counter->last_seq.load(std::memory_order_acquire));
  };
  const std::lock_guard lock(mutex_);
  std::erase_if(counters_, [&](const auto& counter) {
    return counter->ended.load(std::memory_order_relaxed) && done(counter);
  });
  std::vector<std::shared_ptr<StreamCounter>> busy;
  for (const auto& counter : counters_)
    if (!done(counter)) busy.push_back(counter);
  return busy;
}

std::vector<std::shared_ptr<StreamCounter>> Context::live_streams() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<StreamCounter>> live;
  for (const auto& counter : counters_)
    if (!counter->ended.load(std::memory_order_relaxed)) live.push_back(counter);
  return live;
}

CUresult Context::synchronize() {
  for (const auto& counter : busy_streams())
    SIM_TRY(Driver::get().link().wait_stream(counter->id,
                                             counter->last_seq.load(std::memory_order_acquire)));
  return CUDA_SUCCESS;
}

CUresult Context::tell_peer(const Context& peer, bool enable) const {
  auto message = make_message<simdevice::PeerMsg>(simdevice::SimType::kPeerAccess);
  message.context = id_;
  message.peer = peer.id();
  message.enable = enable ? 1 : 0;
  return Driver::get().link().request(message).error;
}

CUresult Context::enable_peer(const Context& peer) {
  const std::lock_guard lock(mutex_);
  if (peers_.contains(peer.unique_id())) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  SIM_TRY(tell_peer(peer, true));
  peers_.insert(peer.unique_id());
  return CUDA_SUCCESS;
}

CUresult Context::disable_peer(const Context& peer) {
  const std::lock_guard lock(mutex_);
  if (peers_.erase(peer.unique_id()) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  return tell_peer(peer, false);
}

CUresult Context::get_limit(CUlimit limit, size_t& value) const {
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const std::lock_guard lock(mutex_);
  value = limits_[limit];
  return CUDA_SUCCESS;
}

CUresult Context::set_limit(CUlimit limit, size_t value) {
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const std::lock_guard lock(mutex_);
  limits_[limit] = value;
  return CUDA_SUCCESS;
}

CUresult current_context(std::shared_ptr<Context>& out) {
  SIM_TRY(Driver::get().ready());
  if (stack().empty() || stack().back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack().back()->closed()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  out = stack().back();
  return CUDA_SUCCESS;
}

std::shared_ptr<Context> peek_context() {
  return stack().empty() ? nullptr : stack().back();
}

void replace_context(std::shared_ptr<Context> context) {
  if (!stack().empty()) stack().pop_back();
  if (context != nullptr) stack().push_back(std::move(context));
}

void push_context(std::shared_ptr<Context> context) {
  stack().push_back(std::move(context));
}

std::shared_ptr<Context> pop_context() {
  if (stack().empty()) return nullptr;
  std::shared_ptr<Context> top = std::move(stack().back());
  stack().pop_back();
  return top;
}

CUresult context_or_current(CUcontext handle, std::shared_ptr<Context>& out) {
  return handle == nullptr ? current_context(out) : find_context(handle, out);
}

CUresult find_context(CUcontext handle, std::shared_ptr<Context>& out) {
  SIM_TRY(Driver::get().initialized());
  out = Driver::get().contexts.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult context_with_id(uint32_t id, std::shared_ptr<Context>& out) {
  out.reset();
  Driver::get().contexts.for_each([&](Context& context) {
    if (!context.green() && context.id() == id) out = context.shared_from_this();
  });
  return out == nullptr ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult synchronize_all_contexts() {
  std::vector<std::shared_ptr<Context>> all;
  Driver::get().contexts.for_each(
      [&](Context& context) { all.push_back(context.shared_from_this()); });
  for (const auto& context : all) SIM_TRY(context->synchronize());
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
