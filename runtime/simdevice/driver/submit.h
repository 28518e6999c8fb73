// SPDX-License-Identifier: Apache-2.0
// The way of work into a stream.
#pragma once

#include <memory>

#include "runtime/simdevice/driver/stream.h"
#include "runtime/simdevice/driver/work.h"

namespace gacer::simdriver {

// Adds a node where `stream` is capturing, else sends the work to the device.
CUresult submit(const std::shared_ptr<Stream>& stream, const Work& work);

// Sends the work to the device. A child graph must have been taken apart by the caller.
CUresult issue(const Stream& stream, const Work& work, bool from_graph);

}  // namespace gacer::simdriver
