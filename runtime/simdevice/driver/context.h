// SPDX-License-Identifier: Apache-2.0
// Contexts, and the stack of current ones that each thread has.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/stream.h"
#include "runtime/simdevice/engine/sm_mask.h"

namespace gacer::simdriver {

struct Event;

class Context : public std::enable_shared_from_this<Context> {
 public:
  enum class Kind { kPrimary, kCreated, kGreen };
  // `sms`: those that its kernels may run on.
  Context(uint32_t id, CUdevice device, Kind kind, unsigned flags, unsigned api_version,
          const simdevice::SmMask& sms = {});
  // A green context in the primary context `base`, with which it shares id, memory, modules and
  // events.
  Context(std::shared_ptr<Context> base, const simdevice::SmMask& sms);

  // Tells the server and makes the legacy stream; before any other use.
  CUresult open();
  // Ends streams, events, modules and memory of the context.
  CUresult close();

  uint32_t id() const { return id_; }
  CUdevice device() const { return device_; }
  bool primary() const { return kind_ == Kind::kPrimary; }
  bool green() const { return kind_ == Kind::kGreen; }
  // The primary context of a green one; else the context itself.
  Context& root() { return base_ != nullptr ? *base_ : *this; }
  const simdevice::SmMask& sms() const { return sms_; }
  // Pairs with close().
  bool closed() const {
    return closed_.load(std::memory_order_acquire) || (base_ != nullptr && base_->closed());
  }
  unsigned flags() const { return flags_; }
  void set_flags(unsigned flags) { flags_ = flags; }
  unsigned api_version() const { return api_version_; }
  uint64_t unique_id() const { return unique_id_; }
  const std::shared_ptr<Stream>& legacy_stream() const { return legacy_; }

  // Every stream of the context, so that synchronize() also covers destroyed ones that still run.
  void track(std::shared_ptr<StreamCounter> counter);
  // Those of which anything is pending.
  std::vector<std::shared_ptr<StreamCounter>> busy_streams();
  // Those that can be sent to.
  std::vector<std::shared_ptr<StreamCounter>> live_streams() const;
  CUresult synchronize();

  // Whether kernels of this context may touch what was allocated in `peer`.
  CUresult enable_peer(const Context& peer);
  CUresult disable_peer(const Context& peer);

  CUresult get_limit(CUlimit limit, size_t& value) const;
  CUresult set_limit(CUlimit limit, size_t value);
  std::atomic<int> uses{1};  // cuCtxAttach, cuCtxDetach
  std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};

  // Guarded by context_order_lock() (context_order.h).
  std::shared_ptr<Stream> gather;     // of what is recorded and waited for context-wide
  std::shared_ptr<Event> entry_gate;  // new streams wait for it

 private:
  CUresult open_on_server();
  CUresult close_green();
  void retire_streams();
  CUresult tell_peer(const Context& peer, bool enable) const;

  const uint32_t id_;
  const CUdevice device_;
  const Kind kind_;
  const std::shared_ptr<Context> base_;
  const simdevice::SmMask sms_;
  std::atomic<unsigned> flags_;
  const unsigned api_version_;
  const uint64_t unique_id_;
  std::atomic<bool> closed_{false};
  std::shared_ptr<Stream> legacy_;
  mutable std::mutex mutex_;
  std::set<uint64_t> peers_;  // their unique ids
  std::vector<std::shared_ptr<StreamCounter>> counters_;
  std::array<size_t, CU_LIMIT_MAX> limits_;
};

// The context on top of this thread's stack, checked: initialised, no sticky error, not destroyed.
CUresult current_context(std::shared_ptr<Context>& out);

// For handles that are looked up in `contexts`, or NULL for the current one.
CUresult context_or_current(CUcontext handle, std::shared_ptr<Context>& out);

// The stack itself. `top` may be null.
std::shared_ptr<Context> peek_context();
void replace_context(std::shared_ptr<Context> context);
void push_context(std::shared_ptr<Context> context);
std::shared_ptr<Context> pop_context();

// The context behind a handle, or CUDA_ERROR_INVALID_CONTEXT.
CUresult find_context(CUcontext handle, std::shared_ptr<Context>& out);

// The ordinary context with this id of the protocol; CUDA_ERROR_CONTEXT_IS_DESTROYED: none has it.
CUresult context_with_id(uint32_t id, std::shared_ptr<Context>& out);

// Waits until all work of the process is done.
CUresult synchronize_all_contexts();

}  // namespace gacer::simdriver
