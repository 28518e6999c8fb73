// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/stream.h"

#include <algorithm>

#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/context_order.h"
#include "runtime/simdevice/driver/driver.h"

namespace gacer::simdriver {
namespace {

CUresult announce(const Context& context, const Stream& stream, uint32_t blocking) {
  auto message = make_message<simdevice::StreamMsg>(simdevice::SimType::kStreamCreate);
  std::copy(context.sms().words.begin(), context.sms().words.end(), message.sm_mask);
  if (context.green()) message.group = static_cast<uint32_t>(context.unique_id());
  message.context = stream.context_id;
  message.stream = stream.counter->id;
  message.blocking = blocking;
  message.priority = stream.priority;
  return Driver::get().link().send(message);
}

// The stream that CU_STREAM_PER_THREAD means in each context this thread has used; ended with the
// thread.
struct ThreadStreams {
  struct Entry {
    std::weak_ptr<Context> context;
    std::shared_ptr<Stream> stream;
  };
  std::vector<Entry> entries;

  ~ThreadStreams() {
    if (Driver::get().ready() != CUDA_SUCCESS)
      return;  // in a fork child a lock may be held for ever
    for (const Entry& entry : entries)
      if (const auto context = entry.context.lock(); context != nullptr && !context->closed())
        end_stream(*entry.stream);
  }
  CUresult of(const std::shared_ptr<Context>& context, std::shared_ptr<Stream>& out) {
    for (const Entry& entry : entries)
      if (entry.stream->context.lock() == context) {
        out = entry.stream;
        return CUDA_SUCCESS;
      }
    SIM_TRY(make_stream(context, CU_STREAM_DEFAULT, 0, out));
    entries.push_back({context, out});
    return CUDA_SUCCESS;
  }
};

CUresult thread_stream(std::shared_ptr<Stream>& out) {
  thread_local ThreadStreams streams;
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (context->green()) return CUDA_ERROR_INVALID_HANDLE;
  return streams.of(context, out);
}

}  // namespace

std::shared_ptr<StreamCounter> StreamIds::take(ServerLink& link) {
  const std::lock_guard lock(mutex_);
  auto counter = std::make_shared<StreamCounter>();
  if (next_unused_ < simdevice::kSimStreams) {
    counter->id = next_unused_++;
    return counter;
  }
  const auto idle = std::find_if(retired_.begin(), retired_.end(), [&](const auto& old) {
    return link.stream_done(old->id, old->last_seq.load(std::memory_order_acquire));
  });
  if (idle == retired_.end()) return nullptr;
  counter->id = (*idle)->id;
  counter->last_seq.store((*idle)->last_seq.load(std::memory_order_relaxed),
                          std::memory_order_relaxed);  // nobody else knows the counter yet
  retired_.erase(idle);
  return counter;
}

void StreamIds::retire(std::shared_ptr<StreamCounter> counter) {
  const std::lock_guard lock(mutex_);
  retired_.push_back(std::move(counter));
}

CUresult open_legacy_stream(Stream& stream) {
  Driver& driver = Driver::get();
  const auto context = stream.context.lock();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (stream.context_id == 0 && !context->green()) {
    // Id 0 goes on counting when its context is reset.
    static const std::shared_ptr<StreamCounter>& legacy =
        *new auto(std::make_shared<StreamCounter>());
    stream.counter = legacy;
  } else {
    stream.counter = driver.stream_ids.take(driver.link());
    if (stream.counter == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    SIM_TRY(announce(*context, stream, simdevice::kLegacyOfContext));
  }
  context->track(stream.counter);
  return CUDA_SUCCESS;
}

CUresult open_stream(const std::shared_ptr<Context>& context, unsigned flags, int priority,
                     std::shared_ptr<Stream>& out) {
  Driver& driver = Driver::get();
  auto stream = std::make_shared<Stream>();
  stream->counter = driver.stream_ids.take(driver.link());
  if (stream->counter == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  stream->context = context;
  stream->context_id = context->id();
  stream->flags = flags;
  stream->priority = priority;
  stream->unique_id = driver.next_unique_id();
  SIM_TRY(announce(*context, *stream, stream->blocking() ? 1 : 0));
  context->track(stream->counter);
  out = std::move(stream);
  return CUDA_SUCCESS;
}

CUresult make_stream(const std::shared_ptr<Context>& context, unsigned flags, int priority,
                     std::shared_ptr<Stream>& out) {
  SIM_TRY(open_stream(context, flags, priority, out));
  return pass_entry_gate(*context, *out);
}

void end_stream(Stream& stream) {
  auto message = make_message<simdevice::StreamMsg>(simdevice::SimType::kStreamDestroy);
  message.context = stream.context_id;
  message.stream = stream.counter->id;
  if (Driver::get().link().end_stream(*stream.counter, message))
    Driver::get().stream_ids.retire(stream.counter);
}

CUresult resolve_stream(CUstream handle, std::shared_ptr<Stream>& out) {
  if (handle == nullptr || handle == kLegacyStream) {
    std::shared_ptr<Context> context;
    SIM_TRY(current_context(context));
    out = context->legacy_stream();
    return CUDA_SUCCESS;
  }
  if (handle == kPerThreadStream) return thread_stream(out);
  SIM_TRY(Driver::get().ready());
  out = Driver::get().streams.find(handle);
  if (out == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto context = out->context.lock();
  return context == nullptr || context->closed() ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult synchronize_stream(const Stream& stream) {
  return Driver::get().link().wait_stream(stream.counter->id, stream.last_seq());
}

}  // namespace gacer::simdriver
