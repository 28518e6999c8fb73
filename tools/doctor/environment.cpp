// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/environment.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tools/preload.h"

namespace gacer::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr int kLimitMs = 60'000;

std::string probe_program() {
  if (const char* given = getenv("GACER_PROBE"); given != nullptr && *given != '\0') return given;
  return executable_folder() + "/gacer-probe";
}

std::string link_plugin(const std::string& probe) {
  return (fs::path(probe).parent_path() / "../lib/libgacer-probe-link.so")
      .lexically_normal()
      .string();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// The probe must not show up as a tenant.
Variables without_daemon(Variables variables) {
  variables["GACER_SOCKET"] = "/dev/null/no-daemon";
  return variables;
}

}  // namespace

Result<ProbeReport> run_probe(const Program& program, const Variables& variables, bool gpu) {
  const std::string probe = probe_program();
  std::vector<std::string> words{program.elf.interpreter, probe, std::to_string(kReportFd),
                                 link_plugin(probe)};
  if (gpu) words.push_back("--gpu");
  std::error_code ignored;
  if (!fs::exists(probe, ignored))
    return Error{ENOENT, "probe " + probe + " not found; it is installed beside gacer"};
  auto child = run_child(words, without_daemon(variables), false, kLimitMs);
  if (!child) return child.error();
  ProbeReport report = parse_probe_report(child->output);
  if (report.complete) return report;
  if (child->timed_out)
    return Error{ETIMEDOUT, fmt::format("the probe did not end within {} s", kLimitMs / 1000)};
  return Error{ECHILD, fmt::format("the probe ended early (status {}): {}", child->status,
                                   first_line(child->errors))};
}

std::vector<LoadedLibrary> parse_library_list(const std::string& text) {
  std::vector<LoadedLibrary> libraries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t start = line.find_first_not_of(" \t");
    const size_t address = line.rfind(" (0x");
    if (start == std::string::npos) continue;
    const std::string entry = line.substr(start, address - start);
    const size_t arrow = entry.find(" => ");
    if (arrow == std::string::npos) {
      if (entry[0] == '/') libraries.push_back({entry, entry});
      continue;
    }
    const std::string path = entry.substr(arrow + 4);
    libraries.push_back({entry.substr(0, arrow), path[0] == '/' ? path : ""});
  }
  return libraries;
}

std::vector<LoadedLibrary> list_libraries(const Program& program, const Variables& variables) {
  if (program.elf.interpreter.empty()) return {};
  Variables tracing = variables;
  tracing["LD_TRACE_LOADED_OBJECTS"] = "1";
  const auto child =
      run_child({program.elf.interpreter, program.executable}, tracing, true, kLimitMs);
  return child ? parse_library_list(child->output) : std::vector<LoadedLibrary>{};
}

}  // namespace gacer::tools::doctor
