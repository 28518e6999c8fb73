// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "runtime/simdevice/cudart/stub.h"
#include "runtime/simdevice/cudart/thread_state.h"

namespace gacer::cudart {

int answer_unsupported(const char* name) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& seen = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  const char* level = std::getenv("SIMGPU_LOG");
  const bool debug = level != nullptr && std::string_view(level) == "debug";
  if (seen.insert(name).second && debug)
    std::fprintf(stderr, "simgpu: %s: not supported by the simulated runtime\n", name);
  return record_error(cudaErrorNotSupported);
}

}  // namespace gacer::cudart
