// SPDX-License-Identifier: Apache-2.0
// A shim of this release that does nothing.
#include "runtime/abi/version.h"

extern "C" [[gnu::visibility("default")]] unsigned gacer_shim_version() {
  return gacer::abi::kAbiVersion;
}
