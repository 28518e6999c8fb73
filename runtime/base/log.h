// SPDX-License-Identifier: Apache-2.0
// Line log to stderr, one write(2) per line. Level from GACER_LOG (error|warn|info|debug), default
// warn. Thread-safe; does not allocate; never throws. A line is cut at 512 bytes.
#pragma once

namespace gacer {

enum class LogLevel { kError = 0, kWarn = 1, kInfo = 2, kDebug = 3 };

void set_log_level(LogLevel level);
LogLevel log_level();

// `who` names the program part, e.g. "gacerd".
[[gnu::format(printf, 3, 4)]] void log_line(LogLevel level, const char* who, const char* format,
                                            ...);

}  // namespace gacer
