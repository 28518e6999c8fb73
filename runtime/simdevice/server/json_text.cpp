// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/json_text.h"

#include <cstdio>

namespace gacer::simdevice {

void append_json_string(std::string& json, std::string_view text) {
  json += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      json += escape;
    } else {
      json += c;
    }
  }
  json += '"';
}

}  // namespace gacer::simdevice
