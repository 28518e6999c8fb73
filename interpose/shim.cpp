// SPDX-License-Identifier: Apache-2.0
#include "interpose/shim.h"

#include <type_traits>

#include "interpose/coverage.h"
#include "interpose/driver.h"

namespace gacer::interpose {

namespace detail {
constinit Shim the_shim;
// Calls from destructors and atexit handlers come after everything that could be destroyed.
static_assert(std::is_trivially_destructible_v<Shim>);
}  // namespace detail

namespace {

// CUDA does not survive a fork, so nothing that was known of handles and memory holds in the child.
void in_fork_child() {
  Shim& mine = shim();
  mine.session.after_fork_in_child();
  mine.kernels.reset_lock();
  mine.captures.reset();
  mine.graphs.reset();
  mine.priorities.reset();
  mine.memory.reset();
  mine.pools.reset();
  mine.vmm.reset();
  mine.graph_memory.reset();
  mine.overhead.reset();
  reset_driver_lock();
  reset_coverage();
}

}  // namespace

Attachment* attach_if_due() {
  Session& session = shim().session;
  session.set_fork_handler(&in_fork_child);
  Attachment* attachment = session.ensure();
  if (attachment != nullptr) shim().memory.tell(*attachment);
  return attachment;
}

}  // namespace gacer::interpose
