// SPDX-License-Identifier: Apache-2.0
// The way of work into a stream.
#pragma once

#include <memory>

#include "runtime/simdevice/driver/stream.h"
#include "runtime/simdevice/driver/work.h"

namespace gacer::simdriver {

// Adds a node where `stream` is capturing, else sends the work to the device.
CUresult submit(const std::shared_ptr<Stream>& stream, const Work& work);

struct IssueMode {
  bool from_graph = false;
  bool node_priority = false;  // of a graph: that of the node counts, not that of the stream
};

// Sends the work to the device. Child graphs and conditionals must have been taken apart by the
// caller.
CUresult issue(const Stream& stream, const Work& work, const IssueMode& mode);

}  // namespace gacer::simdriver
