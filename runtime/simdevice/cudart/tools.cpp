// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/tools.h"

#include <time.h>

#include <cstring>
#include <string_view>

#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/registry.h"
#include "runtime/simdevice/cudart/thread_state.h"

namespace gacer::cudart {
namespace {

using simdevice::ToolsHooks;

const ToolsHooks* find_table() {
  CUuuid id;
  static_assert(sizeof(id) == sizeof(simdevice::kToolsHooksId));
  std::memcpy(&id, simdevice::kToolsHooksId, sizeof(id));
  const void* table = nullptr;
  if (legacy_driver().cuGetExportTable(&table, &id) != CUDA_SUCCESS || table == nullptr)
    return nullptr;
  const auto* hooks = static_cast<const ToolsHooks*>(table);
  return hooks->version == simdevice::kToolsHooksVersion ? hooks : nullptr;
}

const ToolsHooks* table() {
  static const ToolsHooks* const found = find_table();
  return found;
}

uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(time.tv_nsec);
}

// The kernel's name, for launches: their first argument, or that after the configuration, names it.
const char* launched_symbol(std::string_view function, const void* params) {
  if (function.starts_with("__")) function.remove_prefix(2);
  if (params == nullptr || !function.starts_with("cudaLaunch")) return nullptr;
  const auto* words = static_cast<const void* const*>(params);
  if (function.starts_with("cudaLaunchKernelExC")) return kernel_name(words[1]);
  const bool kernel = function.starts_with("cudaLaunchKernel") ||
                      function.starts_with("cudaLaunchCooperativeKernel");
  return kernel ? kernel_name(words[0]) : nullptr;
}

}  // namespace

ToolsHandler tools_handler() {
  const ToolsHooks* hooks = table();
  // Acquire: pairs with the release by which CUPTI publishes its handler.
  return hooks == nullptr ? nullptr : hooks->on_call.load(std::memory_order_acquire);
}

ReportedCall::ReportedCall(ToolsHandler handler, const ApiInfo& info, const void* params)
    : handler_(handler) {
  call_.domain = simdevice::ToolsDomain::kRuntime;
  call_.cbid = info.cbid;
  call_.function = info.name;
  call_.params = params;
  call_.symbol = launched_symbol(info.name, params);
  call_.context = thread_state().context;
  call_.correlation_id = table()->next_correlation();
  call_.start_ns = now_ns();
  handler_(call_, true);
  table()->set_thread_correlation(call_.correlation_id);
}

void ReportedCall::leave(int& result) {
  table()->set_thread_correlation(0);
  call_.end_ns = now_ns();
  call_.result = &result;
  call_.context = thread_state().context;
  handler_(call_, false);
}

}  // namespace gacer::cudart
