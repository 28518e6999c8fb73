// SPDX-License-Identifier: Apache-2.0
#include "interpose/nvml/nvml_memory.h"

#include <algorithm>
#include <cstring>

namespace gacer::interpose::nvml {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void show_share(const Share& share, Memory& memory) {
  const unsigned long long total = std::min<unsigned long long>(share.limit_bytes, memory.total);
  const unsigned long long left = total - std::min<unsigned long long>(total, share.used_bytes);
  memory.free = std::min(left, memory.free);
  memory.total = total;
  memory.used = total - memory.free;
}

void show_share(const Share& share, MemoryV2& memory) {
  Memory plain{memory.total, memory.free, memory.used};
  show_share(share, plain);
  memory.total = plain.total;
  memory.reserved = 0;
  memory.free = plain.free;
  memory.used = plain.used;
}

bool parse_uuid(const char* text, uint8_t uuid[16]) {
  if (strncmp(text, "GPU-", 4) != 0 && strncmp(text, "MIG-", 4) != 0) return false;
  text += 4;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      if (*text++ != '-') return false;
    }
    const int high = hex_digit(text[0]);
    const int low = high < 0 ? -1 : hex_digit(text[1]);
    if (low < 0) return false;
    uuid[i] = static_cast<uint8_t>(high << 4 | low);
    text += 2;
  }
  return *text == '\0';
}

}  // namespace gacer::interpose::nvml
