// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/event.h"

#include <unistd.h>

#include <algorithm>

#include "runtime/simdevice/driver/driver.h"

namespace gacer::simdriver {
namespace {

using simdevice::SimType;
using simdevice::TokenMsg;

constexpr useconds_t kFirstPollUs = 20;
constexpr useconds_t kLongestPollUs = 1000;

bool shared_event_done(uint32_t id) {
  auto message = make_message<TokenMsg>(SimType::kSharedEventQuery);
  message.shared_event = id;
  const Reply reply = Driver::get().link().request(message);
  return reply.error != CUDA_SUCCESS || reply.value != 0;
}

// No word of this process's page tells of another's record.
CUresult wait_shared_event(uint32_t id) {
  for (useconds_t pause = kFirstPollUs; !shared_event_done(id);
       pause = std::min(2 * pause, kLongestPollUs))
    usleep(pause);
  return Driver::get().ready();
}

}  // namespace

EventRecordPoint newest_record(Event& event) {
  const std::lock_guard lock(event.mutex);
  if (event.shared_id != 0) return {true, event.shared_id, 0, 0, 0, 0};
  return {event.recorded, 0, event.id, event.generation, event.stream, event.seq};
}

bool EventRecordPoint::done(const ServerLink& link) const {
  if (shared_id != 0) return shared_event_done(shared_id);
  return !recorded || (link.event_done(event, generation) && link.stream_done(stream, seq));
}

CUresult EventRecordPoint::wait(ServerLink& link) const {
  if (!recorded) return CUDA_SUCCESS;
  if (shared_id != 0) return wait_shared_event(shared_id);
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

CUresult make_shared_event(Event& event) {
  const Reply reply =
      Driver::get().link().request(make_message<TokenMsg>(SimType::kSharedEventCreate));
  SIM_TRY(reply.error);
  event.shared_id = static_cast<uint32_t>(reply.value);
  return CUDA_SUCCESS;
}

void end_event(Event& event) {
  const std::lock_guard lock(event.mutex);
  if (event.shared_id == 0) {
    Driver::get().event_ids.retire(event.id, event.generation);
    return;
  }
  auto message = make_message<TokenMsg>(SimType::kSharedEventDestroy);
  message.shared_event = event.shared_id;
  Driver::get().link().request(message);
}

CUresult find_event(CUevent handle, std::shared_ptr<Event>& out) {
  SIM_TRY(Driver::get().ready());
  out = Driver::get().events.find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
