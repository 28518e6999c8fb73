// SPDX-License-Identifier: Apache-2.0
// Byte sizes as people write and read them; the one place that knows the suffixes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace gacer::tools {

inline constexpr const char* kSizeHelp =
    "e.g. 512M, 8G, 1.5GiB: powers of 1024; 8GB: powers of 1000";

// A positive number, an optional fraction and an optional suffix (case-insensitive): K M G T, KiB
// MiB GiB TiB, KB MB GB TB, B. At most 2^60 bytes.
Result<uint64_t> parse_size(std::string_view text);

// "0", "512 B", "1.5 GiB"; powers of 1024, one decimal.
std::string format_size(uint64_t bytes);

}  // namespace gacer::tools
