// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/builtins.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "runtime/simdevice/exec/device_heap.h"
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
  std::string flags;  // "%-8.3", '*' still in it
  char kind = 0;
  bool is_wide = false;  // l, ll, z, j, t
  int halves = 0;        // h, hh
};

size_t parse_conversion(const std::string& format, size_t at, Conversion& out) {
  size_t end = format.find_first_not_of("-+ #0123456789.*", at + 1);
  if (end == std::string::npos) return std::string::npos;
  out.flags = format.substr(at, std::min<size_t>(end - at, 24));
  for (; end < format.size() && std::strchr("hlLqjzt", format[end]) != nullptr; ++end) {
    out.is_wide |= format[end] != 'h';
    out.halves += format[end] == 'h';
  }
  if (end >= format.size()) return std::string::npos;
  out.kind = format[end];
  return end + 1;
}

// Widths and precisions are cut to what the text buffer of a conversion holds.
constexpr int kMostWidth = 4000;

class DevicePrintf {
 public:
  DevicePrintf(Warp& warp, const Insn& in, uint32_t lane, uint64_t arguments)
      : warp_(warp), in_(in), lane_(lane), at_(arguments) {}

  // False: a fault is set.
  bool run(const std::string& format, std::string& out) {
    for (size_t i = 0; i < format.size();) {
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
      if (!fill_in_widths(conversion) || !convert(conversion, out)) return false;
      i = next;
    }
    return true;
  }
  uint32_t arguments() const { return arguments_; }

 private:
  bool fetch(uint32_t bytes, uint64_t& value) {
    at_ = (at_ + bytes - 1) & ~uint64_t{bytes - 1};
    value = 0;
    uint8_t raw[8] = {};
    if (!read_bytes(warp_, in_, MemSpace::kGeneric, lane_, at_, raw, bytes)) return false;
    std::memcpy(&value, raw, sizeof(value));
    at_ += bytes;
    ++arguments_;
    return true;
  }

  // "%*.*f": numbers among the arguments; literal ones are cut too.
  bool fill_in_widths(Conversion& c) {
    std::string filled;
    for (size_t i = 0; i < c.flags.size();) {
      if (c.flags[i] == '*') {
        uint64_t value = 0;
        if (!fetch(4, value)) return false;
        const int32_t number = static_cast<int32_t>(value);
        filled += std::to_string(std::clamp(number, -kMostWidth, kMostWidth));
        ++i;
      } else if (c.flags[i] >= '1' && c.flags[i] <= '9') {
        int number = 0;
        for (; i < c.flags.size() && c.flags[i] >= '0' && c.flags[i] <= '9'; ++i)
          number = std::min(number * 10 + (c.flags[i] - '0'), kMostWidth);
        filled += std::to_string(number);
      } else {
        filled.push_back(c.flags[i++]);
      }
    }
    c.flags = filled;
    return true;
  }

  template <typename T>
  static void append(const Conversion& c, const char* kind, T value, std::string& out) {
    char text[2 * kMaxText];
    const std::string format = c.flags + kind;
    if (std::snprintf(text, sizeof(text), format.c_str(), value) > 0) out += text;
  }

  bool convert(const Conversion& c, std::string& out) {
    const bool is_float = std::strchr("fFeEgGaA", c.kind) != nullptr,
               is_pointer = c.kind == 'p' || c.kind == 's' || c.kind == 'n';
    uint64_t value = 0;
    if (!fetch(is_float || is_pointer || c.is_wide ? 8 : 4, value)) return false;
    const char kind[] = {c.kind, '\0'};
    if (c.kind == 's') {
      std::string text = "(null)";
      if (value != 0 && !read_text(warp_, in_, lane_, value, text = {})) return false;
      append(c, "s", text.c_str(), out);
    } else if (is_float) {
      append(c, kind, std::bit_cast<double>(value), out);
    } else if (c.kind == 'p') {
      append(c, "p", static_cast<uintptr_t>(value), out);
    } else if (c.kind == 'c') {
      append(c, "c", static_cast<int>(value), out);
    } else {
      convert_integer(c, value, out);
    }
    return true;
  }

  static void convert_integer(const Conversion& c, uint64_t value, std::string& out) {
    const char wide_kind[] = {'l', 'l', c.kind, '\0'};
    const int bits = c.is_wide ? 64 : c.halves == 0 ? 32 : c.halves == 1 ? 16 : 8;
    const int unused = 64 - bits;
    if (c.kind == 'd' || c.kind == 'i') {
      append(c, wide_kind, static_cast<long long>(static_cast<int64_t>(value << unused) >> unused),
             out);
    } else if (std::strchr("uxXo", c.kind) != nullptr) {
      append(c, wide_kind, static_cast<unsigned long long>(value << unused >> unused), out);
    }
  }

  Warp& warp_;
  const Insn& in_;
  uint32_t lane_;
  uint64_t at_;
  uint32_t arguments_ = 0;
};

void return_value(Warp& warp, const CallSite& site, uint32_t lane, uint64_t value) {
  if (site.returns.empty()) return;
  for (uint32_t i = 0; i < 8 && i < site.returns[0].bytes; ++i)
    *warp.local_word(warp.frame().local + site.returns[0].offset + i, lane) =
        static_cast<uint8_t>(value >> (8 * i));
}

void print(Warp& warp, const std::string& text) {
  const auto& sink = warp.block().launch().print;
  if (sink) {
    sink(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

bool printf_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const CallSite& site = warp.frame().code->sites[in.list.first];
  for (; mask != 0; mask &= mask - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
    std::string format, text;
    const uint64_t address = argument(warp, site.arguments[0], lane);
    if (address == 0) {
      return_value(warp, site, lane, ~uint64_t{0});
      continue;
    }
    if (!read_text(warp, in, lane, address, format)) return false;
    DevicePrintf printer(warp, in, lane, argument(warp, site.arguments[1], lane));
    if (!printer.run(format, text)) return false;
    print(warp, text);
    return_value(warp, site, lane, printer.arguments());
  }
  return true;
}

bool malloc_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const CallSite& site = warp.frame().code->sites[in.list.first];
  DeviceHeap* heap = warp.block().launch().heap;
  for (; mask != 0; mask &= mask - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
    const uint64_t bytes = argument(warp, site.arguments[0], lane);
    return_value(warp, site, lane, heap == nullptr ? 0 : heap->allocate(bytes));
  }
  return true;
}

bool free_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const CallSite& site = warp.frame().code->sites[in.list.first];
  DeviceHeap* heap = warp.block().launch().heap;
  for (; mask != 0; mask &= mask - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
    const uint64_t address = argument(warp, site.arguments[0], lane);
    if (address != 0 && (heap == nullptr || !heap->free(address)))
      return warp.fault(FaultKind::kIllegalAddress, in, lane, "free of what malloc did not give");
  }
  return true;
}

// __assertfail(message, file, line, function, char size)
bool assert_handler(Warp& warp, const Insn& in, uint32_t mask) {
  const CallSite& site = warp.frame().code->sites[in.list.first];
  const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
  std::string message, file, function;
  if (!read_text(warp, in, lane, argument(warp, site.arguments[0], lane), message)) return false;
  if (!read_text(warp, in, lane, argument(warp, site.arguments[1], lane), file)) return false;
  if (!read_text(warp, in, lane, argument(warp, site.arguments[3], lane), function)) return false;
  const uint64_t line = argument(warp, site.arguments[2], lane) & 0xffffffffu;
  return warp.fault(FaultKind::kAssert, in, lane,
                    "assertion `" + message + "` failed at " + file + ":" + std::to_string(line) +
                        " in " + function);
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

constexpr struct {
  std::string_view name;
  size_t arguments;
  Builtin builtin;
} kBuiltins[] = {
    {"vprintf", 2, {printf_handler, true, false}},
    {"__assertfail", 5, {assert_handler, false, false}},
    {"malloc", 1, {malloc_handler, false, true}},
    {"free", 1, {free_handler, false, true}},
    {"cudaGraphSetConditional", 2, {set_conditional_handler, false, false}},
};

}  // namespace

const Builtin* find_builtin(const std::string& name, size_t argument_count) {
  for (const auto& row : kBuiltins)
    if (row.name == name && row.arguments == argument_count) return &row.builtin;
  return nullptr;
}

}  // namespace gacer::simdevice
