// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/event.h"

#include <algorithm>

#include "runtime/simdevice/driver/driver.h"

namespace gacer::simdriver {

EventRecordPoint newest_record(Event& event) {
  const std::lock_guard lock(event.mutex);
  return {event.recorded, event.id, event.generation, event.stream, event.seq};
}

bool EventRecordPoint::done(const ServerLink& link) const {
  return !recorded || (link.event_done(event, generation) && link.stream_done(stream, seq));
}

CUresult EventRecordPoint::wait(ServerLink& link) const {
  if (!recorded) return CUDA_SUCCESS;
  SIM_TRY(link.wait_event(event, generation));
  return link.wait_stream(stream, seq);
}

bool EventIds::take(ServerLink& link, uint32_t& id, uint64_t& base_generation) {
  const std::lock_guard lock(mutex_);
  const auto idle = std::find_if(retired_.begin(), retired_.end(), [&](const Retired& old) {
    return link.event_done(old.id, old.generation);
  });
  if (idle != retired_.end()) {
    id = idle->id;
    base_generation = idle->generation;
    *idle = retired_.back();
    retired_.pop_back();
    return true;
  }
  if (next_unused_ >= simdevice::kSimEvents) return false;
  id = next_unused_++;
  base_generation = 0;
  return true;
}

void EventIds::retire(uint32_t id, uint64_t last_generation) {
  auto message = make_message<simdevice::EventOp>(simdevice::SimType::kEventDestroy);
  message.event = id;
  Driver::get().link().send(message);
  const std::lock_guard lock(mutex_);
  retired_.push_back({id, last_generation});
}

CUresult find_event(CUevent handle, std::shared_ptr<Event>& out) {
  SIM_TRY(Driver::get().ready());
  out = Driver::get().events.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
