// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/simdevice/engine/engine.h"

namespace gacer::simdevice {

// An operation of one of the devices.
struct EngineOp {
  Engine* engine = nullptr;
  OpId id = 0;
  bool pending() const { return engine != nullptr && engine->is_pending(id); }
};

}  // namespace gacer::simdevice
