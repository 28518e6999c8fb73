// SPDX-License-Identifier: Apache-2.0
// What the probe looks up, and how it writes down who answered.
#pragma once

#include <cstdio>

namespace gacer::probe {

struct Row {
  const char* symbol;
  const char* base;
};
inline constexpr Row kRows[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) {#symbol, #base},
#define GACER_FORWARD GACER_HOOK
#include "hook_rows.inc"
#undef GACER_HOOK
#undef GACER_FORWARD
};

class Reporter {
 public:
  explicit Reporter(int fd);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  [[gnu::format(printf, 2, 3)]] void line(const char* format, ...);
  // "answer WAY SYMBOL OBJECT NAME": OBJECT and NAME are "-" when nobody answered or it is unknown.
  void answer(const char* way, const char* symbol, void* address);
  // OBJECT TAB NAME of an address.
  void owner(void* address, char* text, size_t bytes) const;

 private:
  FILE* file_;
  const char* (*shim_symbol_of_)(const void*);
};

// "driver PATH VERSION": the driver behind the shim, if it is another object, else who has the
// handle.
void find_driver(Reporter& out, void* handle);
// "proc API VERSION FLAG BASE RESULT OBJECT NAME DRIVER_OBJECT DRIVER_NAME": what the program gets,
// and what the driver itself answers.
void report_proc_addresses(Reporter& out, void* handle);
// "gpu RESULT COUNT", "device ORDINAL COMPUTE_MODE NAME"; the only part that initialises the
// driver.
void report_devices(Reporter& out, void* handle);

}  // namespace gacer::probe
