// SPDX-License-Identifier: Apache-2.0
// What /proc says about processes. All of it may change or vanish while it is read: a process that
// is gone has no children and maps nothing. Source: proc(5).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gacer::tools {

// `root` first, then its descendants that still hang on to it.
std::vector<pid_t> process_tree(pid_t root);

struct ProcessView {
  std::string executable;  // empty: gone, a kernel thread, or not ours to see
  uint64_t start_ticks = 0;
  bool has_shim = false;  // the shim's file is mapped
  bool has_cuda = false;  // a driver (libcuda.so.*) is mapped
};
ProcessView view_process(pid_t pid, const std::string& shim_path);

// The part of it that reads a process's map.
void read_maps(const std::string& maps, const std::string& shim_path, ProcessView& view);

}  // namespace gacer::tools
