// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gacer {
namespace {

LogLevel level_from_environment() {
  const char* text = getenv("GACER_LOG");
  if (text == nullptr) return LogLevel::kWarn;
  if (strcmp(text, "error") == 0) return LogLevel::kError;
  if (strcmp(text, "info") == 0) return LogLevel::kInfo;
  if (strcmp(text, "debug") == 0) return LogLevel::kDebug;
  return LogLevel::kWarn;
}

// -1: not read yet.
std::atomic<int> current_level{-1};

}  // namespace

void set_log_level(LogLevel level) {
  current_level.store(static_cast<int>(level), std::memory_order_relaxed);
}

LogLevel log_level() {
  int level = current_level.load(std::memory_order_relaxed);
  if (level < 0) {
    level = static_cast<int>(level_from_environment());
    current_level.store(level, std::memory_order_relaxed);
  }
  return static_cast<LogLevel>(level);
}

void log_line(LogLevel level, const char* who, const char* format, ...) {
  if (level > log_level()) return;
  static constexpr const char* kNames[] = {"error", "warn", "info", "debug"};
  char line[512];
  const int prefix = snprintf(line, sizeof line, "%s: %s: ", who, kNames[static_cast<int>(level)]);
  size_t used = std::min(sizeof line - 2, static_cast<size_t>(std::max(prefix, 0)));
  va_list args;
  va_start(args, format);
  const int body = vsnprintf(line + used, sizeof line - used - 1, format, args);
  va_end(args);
  used = std::min(sizeof line - 1, used + static_cast<size_t>(std::max(body, 0)));
  line[used++] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, used);
}

}  // namespace gacer
