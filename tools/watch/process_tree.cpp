// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/process_tree.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gacer::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxProcesses = 4096;
constexpr int kStartTimeField = 22;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string proc_path(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

void add_children(pid_t pid, std::vector<pid_t>& processes) {
  std::error_code failed;
  for (fs::directory_iterator it(proc_path(pid, "task"), failed), end; !failed && it != end;
       it.increment(failed)) {
    std::istringstream children(read_file(it->path().string() + "/children"));
    for (pid_t child = 0; children >> child;)
      if (processes.size() < kMaxProcesses) processes.push_back(child);
  }
}

// Field 2, the name, may hold anything; what follows its last parenthesis does not.
uint64_t start_ticks(pid_t pid) {
  const std::string stat = read_file(proc_path(pid, "stat"));
  const size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(stat.substr(after_name + 1));
  std::string word;
  for (int field = 3; field <= kStartTimeField && fields >> word;) ++field;
  uint64_t ticks = 0;
  std::from_chars(word.data(), word.data() + word.size(), ticks);
  return ticks;
}

// "/a/libx.so (deleted)" after an upgrade is still that file.
std::string mapped_file(const std::string& line) {
  const size_t slash = line.find('/');
  if (slash == std::string::npos) return "";
  const size_t deleted = line.rfind(" (deleted)");
  return line.substr(slash, deleted == std::string::npos ? deleted : deleted - slash);
}

}  // namespace

std::vector<pid_t> process_tree(pid_t root) {
  std::vector<pid_t> processes{root};
  for (size_t i = 0; i < processes.size(); ++i) add_children(processes[i], processes);
  return processes;
}

void read_maps(const std::string& maps, const std::string& shim_path, ProcessView& view) {
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    const std::string file = mapped_file(line);
    const std::string name = fs::path(file).filename().string();
    if (file == shim_path || name == "libgacer.so") view.has_shim = true;
    if (file != shim_path && name.rfind("libcuda.so", 0) == 0) view.has_cuda = true;
  }
}

ProcessView view_process(pid_t pid, const std::string& shim_path) {
  ProcessView view;
  std::error_code failed;
  const fs::path executable = fs::read_symlink(proc_path(pid, "exe"), failed);
  if (failed) return view;
  view.executable = executable.string();
  view.start_ticks = start_ticks(pid);
  read_maps(read_file(proc_path(pid, "maps")), shim_path, view);
  return view;
}

}  // namespace gacer::tools
