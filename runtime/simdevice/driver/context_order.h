// SPDX-License-Identifier: Apache-2.0
// Events for whole contexts (cuCtxRecordEvent, cuCtxWaitEvent, cuGreenCtx*Event).
#pragma once

#include <memory>
#include <mutex>

#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/event.h"

namespace gacer::simdriver {

std::mutex& context_order_lock();

// Records `event` behind all that was submitted to the context's streams so far.
CUresult record_in_context(Context& context, const std::shared_ptr<Event>& event);
// All that is submitted to the context from now on waits for the newest record of `event`, in
// streams that are made later too.
CUresult wait_in_context(Context& context, const std::shared_ptr<Event>& event);
// What a new stream of the context must wait for.
CUresult pass_entry_gate(Context& context, const Stream& stream);

// An event of the driver's own; nullptr: no id is left.
std::shared_ptr<Event> make_internal_event();

}  // namespace gacer::simdriver
