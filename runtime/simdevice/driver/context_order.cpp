// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/context_order.h"

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/submit.h"

namespace gacer::simdriver {
namespace {

CUresult gather_stream(Context& context, std::shared_ptr<Stream>& out) {
  if (context.gather == nullptr) {
    const auto self = context.shared_from_this();
    SIM_TRY(open_stream(self, CU_STREAM_NON_BLOCKING, 0, context.gather));
  }
  out = context.gather;
  return CUDA_SUCCESS;
}

std::unique_ptr<Stream> behind_counter(const Context& context,
                                       std::shared_ptr<StreamCounter> counter) {
  auto stream = std::make_unique<Stream>();
  stream->counter = std::move(counter);
  stream->context_id = context.id();
  return stream;
}

// `to` waits for what `from` has now. What is left in a stream that has ended is waited for here:
// nothing can be sent there any more.
CUresult join(const Stream& from, const Stream& to, const std::shared_ptr<Event>& event) {
  const CUresult recorded = issue(from, EventRecordWork{event}, {});
  if (recorded == CUDA_ERROR_INVALID_HANDLE) return synchronize_stream(from);
  SIM_TRY(recorded);
  return issue(to, EventWaitWork{event}, {});
}

}  // namespace

std::mutex& context_order_lock() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

std::shared_ptr<Event> make_internal_event() {
  Driver& driver = Driver::get();
  const auto give_back = [](Event* event) {
    if (Driver::get().ready() == CUDA_SUCCESS) end_event(*event);
    delete event;
  };
  uint32_t id = 0;
  uint64_t generation = 0;
  if (!driver.event_ids.take(driver.link(), id, generation)) return nullptr;
  std::shared_ptr<Event> event(new Event, give_back);
  event->id = id;
  event->generation = generation;
  event->flags = CU_EVENT_DISABLE_TIMING;
  return event;
}

CUresult record_in_context(Context& context, const std::shared_ptr<Event>& event) {
  const std::lock_guard lock(context_order_lock());
  std::shared_ptr<Stream> gather;
  SIM_TRY(gather_stream(context, gather));
  const std::shared_ptr<Event> step = make_internal_event();
  if (step == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  for (const auto& counter : context.busy_streams())
    if (counter != gather->counter) SIM_TRY(join(*behind_counter(context, counter), *gather, step));
  return issue(*gather, EventRecordWork{event}, {});
}

CUresult wait_in_context(Context& context, const std::shared_ptr<Event>& event) {
  const std::lock_guard lock(context_order_lock());
  std::shared_ptr<Stream> gather;
  SIM_TRY(gather_stream(context, gather));
  std::shared_ptr<Event> gate = make_internal_event();
  if (gate == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  SIM_TRY(issue(*gather, EventWaitWork{event}, {}));
  SIM_TRY(issue(*gather, EventRecordWork{gate}, {}));
  for (const auto& counter : context.live_streams()) {
    if (counter == gather->counter) continue;
    const CUresult sent = issue(*behind_counter(context, counter), EventWaitWork{gate}, {});
    if (sent != CUDA_SUCCESS && sent != CUDA_ERROR_INVALID_HANDLE) return sent;
  }
  context.entry_gate = std::move(gate);
  return CUDA_SUCCESS;
}

CUresult pass_entry_gate(Context& context, const Stream& stream) {
  const std::lock_guard lock(context_order_lock());
  for (Context* place : {&context, &context.root()})
    if (place->entry_gate != nullptr) SIM_TRY(issue(stream, EventWaitWork{place->entry_gate}, {}));
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
