// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/unsupported.h"

#include <mutex>
#include <set>
#include <string>

#include "runtime/base/log.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/sim_log.h"

namespace gacer::simdriver {

int answer_unsupported(const char* name) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& seen = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (seen.insert(name).second)
    sim_log(LogLevel::kDebug, "%s: not supported by the simulated device", name);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace gacer::simdriver
