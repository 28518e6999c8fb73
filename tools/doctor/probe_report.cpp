// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/probe_report.h"

#include <charconv>

namespace gacer::tools::doctor {
namespace {

using Fields = std::vector<std::string_view>;

Fields split(std::string_view text, char separator) {
  Fields fields;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string known(std::string_view text) {
  return text == "-" ? "" : std::string(text);
}

Owner owner(std::string_view object, std::string_view name) {
  return {known(object), known(name)};
}

void read_answer(ProbeReport& report, const Fields& f) {
  report.symbols.push_back({std::string(f[1]), std::string(f[2]), owner(f[3], f[4])});
}

void read_proc(ProbeReport& report, const Fields& f) {
  report.procs.push_back({number(f[1]), number(f[2]), f[3] == "per-thread", std::string(f[4]),
                          number(f[5]), owner(f[6], f[7]), owner(f[8], f[9])});
}

void read_shim(ProbeReport& report, const Fields& f) {
  report.shim_version = static_cast<uint32_t>(number(f[1]));
  report.shim_path = known(f[2]);
}

void read_driver(ProbeReport& report, const Fields& f) {
  report.driver_version = number(f[1]);
  report.driver_path = known(f[2]);
}

void read_device(ProbeReport& report, const Fields& f) {
  report.devices.push_back({number(f[1]), number(f[2]), std::string(f[3])});
}

struct LineKind {
  std::string_view word;
  size_t fields;
  void (*read)(ProbeReport&, const Fields&);
};

constexpr LineKind kLineKinds[] = {
    {"answer", 5, read_answer},
    {"proc", 10, read_proc},
    {"shim", 3, read_shim},
    {"driver", 3, read_driver},
    {"device", 4, read_device},
    {"libc", 2, [](ProbeReport& r, const Fields& f) { r.libc_version = f[1]; }},
    {"gpu", 3, [](ProbeReport& r, const Fields& f) { r.gpu_result = number(f[1]); }},
    {"error", 3,
     [](ProbeReport& r, const Fields& f) {
       r.errors.push_back({std::string(f[1]), std::string(f[2])});
     }},
    {"end", 1, [](ProbeReport& r, const Fields&) { r.complete = true; }},
};

}  // namespace

ProbeReport parse_probe_report(std::string_view text) {
  ProbeReport report;
  for (const std::string_view line : split(text, '\n')) {
    const Fields fields = split(line, '\t');
    for (const LineKind& kind : kLineKinds)
      if (fields[0] == kind.word && fields.size() >= kind.fields) kind.read(report, fields);
  }
  return report;
}

}  // namespace gacer::tools::doctor
