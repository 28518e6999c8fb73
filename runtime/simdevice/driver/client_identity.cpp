// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/client_identity.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "runtime/simdevice/mps/mps_socket.h"
#include "runtime/simdevice/mps/mps_state.h"

namespace gacer::simdriver {
namespace {

std::string environment(const char* name) {
  const char* text = getenv(name);
  return text == nullptr ? "" : text;
}

uint64_t number(const char* name, uint64_t otherwise) {
  const std::string text = environment(name);
  return text.empty() ? otherwise : strtoull(text.c_str(), nullptr, 10);
}

std::string executable_name() {
  char path[512];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string full(path, length > 0 ? static_cast<size_t>(length) : 0);
  return full.substr(full.rfind('/') + 1);
}

// Cut to fit, always terminated.
template <size_t N>
void copy_text(char (&out)[N], const std::string& text) {
  const size_t length = std::min(text.size(), N - 1);
  memcpy(out, text.data(), length);
  out[length] = '\0';
}

// Within what the control daemon allows: a client may ask for less, never for more.
void limit_memory(simdevice::HelloMsg& hello, const std::map<uint32_t, uint64_t>& limits) {
  for (const auto& [device, bytes] : limits) {
    if (device >= simdevice::kMaxDevices) continue;
    uint64_t& limit = hello.mps_memory_limit[device];
    limit = limit == 0 ? bytes : std::min(limit, bytes);
  }
}

void fill_mps(simdevice::HelloMsg& hello) {
  const auto answer = simdevice::mps_command(simdevice::mps_pipe_directory(), "client_settings");
  const auto settings = answer.ok() ? simdevice::parse_settings(*answer) : std::nullopt;
  if (!settings) return;
  hello.mps = 1;
  double percentage = settings->percentage;
  const double own = atof(environment("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE").c_str());
  if (own > 0 && own <= 100) percentage = std::min(percentage, own);
  hello.mps_active_thread_percentage = static_cast<uint32_t>(std::ceil(percentage));
  const std::string priority = environment("CUDA_MPS_CLIENT_PRIORITY");
  hello.mps_client_priority = priority.empty() ? settings->priority : atoi(priority.c_str()) > 0;
  limit_memory(hello, settings->memory_limits);
  const auto limits =
      simdevice::parse_memory_limits(environment("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
  if (limits) limit_memory(hello, *limits);
}

}  // namespace

void fill_identity(simdevice::HelloMsg& hello) {
  hello.pid = static_cast<uint32_t>(getpid());
  copy_text(hello.device, environment("SIMGPU_DEVICE"));
  const std::string label = environment("SIMGPU_LABEL");
  copy_text(hello.label, label.empty() ? executable_name() : label);
  hello.devices = static_cast<uint32_t>(number("SIMGPU_DEVICES", 0));
  hello.context_bytes = number("SIMGPU_CONTEXT_MEM", UINT64_MAX);
  hello.pool_block_bytes = number("SIMGPU_POOL_BLOCK", 0);
  hello.module_bytes = number("SIMGPU_MODULE_MEM", 0);
  fill_mps(hello);
}

}  // namespace gacer::simdriver
