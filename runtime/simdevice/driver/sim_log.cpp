// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/sim_log.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>

namespace gacer::simdriver {
namespace {

constexpr size_t kKeptLines = 256;
constexpr size_t kLineBytes = 512;

struct KeptLog {
  std::mutex mutex;
  std::deque<std::string> lines;
  uint32_t count = 0;  // of all so far
  std::map<uint64_t, LogListener> listeners;
  uint64_t next_listener = 1;
};

KeptLog& kept() {
  static KeptLog& log = *new KeptLog;
  return log;
}

void keep(LogLevel level, const char* line) {
  std::map<uint64_t, LogListener> listeners;
  {
    const std::lock_guard lock(kept().mutex);
    kept().lines.emplace_back(line);
    if (kept().lines.size() > kKeptLines) kept().lines.pop_front();
    ++kept().count;
    listeners = kept().listeners;
  }
  for (const auto& [number, listener] : listeners) listener(level, line);
}

}  // namespace

void read_log_level() {
  const char* text = getenv("SIMGPU_LOG");
  const std::string_view name = text == nullptr ? "warn" : text;
  if (name == "error") return set_log_level(LogLevel::kError);
  if (name == "info") return set_log_level(LogLevel::kInfo);
  if (name == "debug") return set_log_level(LogLevel::kDebug);
  set_log_level(LogLevel::kWarn);
}

void sim_log(LogLevel level, const char* format, ...) {
  char line[kLineBytes];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  log_line(level, "simgpu", "%s", line);
  if (level <= LogLevel::kInfo) keep(level, line);
}

LogLines kept_log_lines(uint32_t from) {
  const std::lock_guard lock(kept().mutex);
  const auto& lines = kept().lines;
  const size_t wanted = kept().count - from;
  LogLines found;
  found.missed = wanted > lines.size();
  const size_t some = std::min(wanted, lines.size());
  found.texts.assign(lines.end() - static_cast<std::ptrdiff_t>(some), lines.end());
  return found;
}

uint32_t log_lines_so_far() {
  const std::lock_guard lock(kept().mutex);
  return kept().count;
}

uint64_t add_log_listener(LogListener listener) {
  const std::lock_guard lock(kept().mutex);
  kept().listeners[kept().next_listener] = std::move(listener);
  return kept().next_listener++;
}

bool remove_log_listener(uint64_t number) {
  const std::lock_guard lock(kept().mutex);
  return kept().listeners.erase(number) > 0;
}

}  // namespace gacer::simdriver
