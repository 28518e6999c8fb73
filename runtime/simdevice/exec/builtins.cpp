// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/builtins.h"

#include <bit>
#include <cstdio>
#include <cstring>

#include "runtime/simdevice/exec/memory_access.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {
namespace {

constexpr size_t kMaxText = 4096;

uint64_t argument(Warp& warp, const ParamSlot& slot, uint32_t lane) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < slot.bytes && i < 8; ++i)
    value |= uint64_t{*warp.local_word(warp.frame().local + slot.offset + i, lane)} << (8 * i);
  return value;
}

// A zero-terminated device string, cut at kMaxText. False: a fault is set.
bool read_text(Warp& warp, const Insn& in, uint32_t lane, uint64_t address, std::string& out) {
  for (uint8_t c = 1; out.size() < kMaxText;) {
    if (!read_bytes(warp, in, MemSpace::kGeneric, lane, address + out.size(), &c, 1)) return false;
    if (c == 0) break;
    out.push_back(static_cast<char>(c));
  }
  return true;
}

// One conversion of a printf format, with the length modifiers that the device's ABI has made
// meaningless.
struct Conversion {
  std::string flags;  // "%-8.3"
  char kind = 0;
  bool is_wide = false;  // l, ll, z, j, t
};

size_t parse_conversion(const std::string& format, size_t at, Conversion& out) {
  size_t end = format.find_first_not_of("-+ #0123456789.", at + 1);
  if (end == std::string::npos) return std::string::npos;
  out.flags = format.substr(at, std::min<size_t>(end - at, 24));
  for (; end < format.size() && std::strchr("hlLqjzt", format[end]) != nullptr; ++end)
    out.is_wide |= format[end] != 'h';
  if (end >= format.size()) return std::string::npos;
  out.kind = format[end];
  return end + 1;
}

class DevicePrintf {
 public:
  DevicePrintf(Warp& warp, const Insn& in, uint32_t lane, uint64_t arguments)
      : warp_(warp), in_(in), lane_(lane), at_(arguments) {}

  bool run(const std::string& format, std::string& out) {
    for (size_t i = 0; i < format.size() && out.size() < 2 * kMaxText;) {
      if (format[i] != '%') {
        out.push_back(format[i++]);
        continue;
      }
      if (i + 1 < format.size() && format[i + 1] == '%') {
        out.push_back('%');
        i += 2;
        continue;
      }
      Conversion conversion;
      const size_t next = parse_conversion(format, i, conversion);
      if (next == std::string::npos) return out.append(format, i), true;
      if (!convert(conversion, out)) return false;
      i = next;
    }
    return true;
  }

 private:
  bool fetch(uint32_t bytes, uint64_t& value) {
    at_ = (at_ + bytes - 1) & ~uint64_t{bytes - 1};
    value = 0;
    uint8_t raw[8] = {};
    if (!read_bytes(warp_, in_, MemSpace::kGeneric, lane_, at_, raw, bytes)) return false;
    std::memcpy(&value, raw, sizeof(value));
    at_ += bytes;
    return true;
  }

  template <typename T>
  static void append(const Conversion& c, const char* kind, T value, std::string& out) {
    char text[512];
    const std::string format = c.flags + kind;
    std::snprintf(text, sizeof(text), format.c_str(), value);
    out += text;
  }

  bool convert(const Conversion& c, std::string& out) {
    const bool is_float = std::strchr("fFeEgGaA", c.kind) != nullptr,
               is_pointer = c.kind == 'p' || c.kind == 's';
    uint64_t value = 0;
    if (!fetch(is_float || is_pointer || c.is_wide ? 8 : 4, value)) return false;
    const char kind[] = {c.kind, '\0'}, wide_kind[] = {'l', 'l', c.kind, '\0'};
    if (c.kind == 's') {
      std::string text;
      if (!read_text(warp_, in_, lane_, value, text)) return false;
      append(c, "s", text.c_str(), out);
    } else if (is_float) {
      append(c, kind, std::bit_cast<double>(value), out);
    } else if (c.kind == 'p') {
      append(c, "llx", static_cast<unsigned long long>(value), out);
    } else if (c.kind == 'd' || c.kind == 'i') {
      append(c, "lld",
             c.is_wide ? static_cast<long long>(value)
                       : static_cast<long long>(static_cast<int32_t>(value)),
             out);
    } else if (std::strchr("uxXo", c.kind) != nullptr) {
      append(c, wide_kind, static_cast<unsigned long long>(value), out);
    } else if (c.kind == 'c') {
      out.push_back(static_cast<char>(value));
    }
    return true;
  }

  Warp& warp_;
  const Insn& in_;
  uint32_t lane_;
  uint64_t at_;
};

void return_value(Warp& warp, const CallSite& site, uint32_t lane, uint32_t value) {
  if (site.returns.empty()) return;
  for (uint32_t i = 0; i < 4 && i < site.returns[0].bytes; ++i)
    *warp.local_word(warp.frame().local + site.returns[0].offset + i, lane) =
        static_cast<uint8_t>(value >> (8 * i));
}

bool printf_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const CallSite& site = warp.frame().code->sites[in.list.first];
  for (; mask != 0; mask &= mask - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
    std::string format, text;
    if (!read_text(warp, in, lane, argument(warp, site.arguments[0], lane), format)) return false;
    DevicePrintf printer(warp, in, lane, argument(warp, site.arguments[1], lane));
    if (!printer.run(format, text)) return false;
    std::fwrite(text.data(), 1, text.size(), stderr);
    return_value(warp, site, lane, 1);
  }
  return true;
}

// __assertfail(message, file, line, function, char size)
bool assert_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const CallSite& site = warp.frame().code->sites[in.list.first];
  const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
  std::string message, file;
  if (!read_text(warp, in, lane, argument(warp, site.arguments[0], lane), message)) return false;
  if (!read_text(warp, in, lane, argument(warp, site.arguments[1], lane), file)) return false;
  return warp.fault(FaultKind::kAssert, in, lane,
                    "assertion `" + message + "` failed at " + file + ":" +
                        std::to_string(argument(warp, site.arguments[2], lane)));
}

// cudaGraphSetConditional(handle, value): the driver's handles are addresses of the value
// (../driver/conditional.h).
bool set_conditional_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const CallSite& site = warp.frame().code->sites[in.list.first];
  for (uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const auto value = static_cast<uint32_t>(argument(warp, site.arguments[1], lane));
    uint8_t bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    if (!write_bytes(warp, in, MemSpace::kGeneric, lane, argument(warp, site.arguments[0], lane),
                     bytes, sizeof bytes))
      return false;
  }
  return true;
}

}  // namespace

Handler find_builtin(const std::string& name, size_t argument_count) {
  if (name == "vprintf" && argument_count == 2) return printf_handler;
  if (name == "__assertfail" && argument_count == 5) return assert_handler;
  if (name == "cudaGraphSetConditional" && argument_count == 2) return set_conditional_handler;
  return nullptr;
}

}  // namespace gacer::simdevice
