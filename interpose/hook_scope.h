// SPDX-License-Identifier: Apache-2.0
// Marks that this thread is inside a hook. Driver calls that the driver (or we) make from there
// reach the driver untouched. Functions that need the mark take a HookScope as proof.
#pragma once

namespace gacer::interpose {

class HookScope {
 public:
  HookScope() : outermost_(tls_depth++ == 0) {}
  ~HookScope() { --tls_depth; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

  // False: a nested call, to be passed straight to the driver.
  bool outermost() const { return outermost_; }
  static bool inside() { return tls_depth != 0; }

 private:
  // initial-exec: one instruction; the shim is loaded at program start, so static TLS has room.
  [[gnu::tls_model("initial-exec")]] static inline thread_local int tls_depth = 0;
  bool outermost_;
};

}  // namespace gacer::interpose
