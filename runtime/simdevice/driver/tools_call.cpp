// SPDX-License-Identifier: Apache-2.0
// Calls as CUPTI sees them, and the table that it gets from cuGetExportTable.
#include "runtime/simdevice/driver/tools_call.h"

#include <ctime>
#include <mutex>
#include <set>
#include <string>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/module.h"
#include "runtime/simdevice/driver/reported.h"

namespace gacer::simdriver {
namespace {

std::atomic<uint32_t> correlations{0};

struct ThreadState {
  uint32_t of_caller = 0;  // given by the runtime
  uint32_t of_call = 0;
};
ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

uint32_t next_correlation() {
  return correlations.fetch_add(1, std::memory_order_relaxed) + 1;
}

void set_thread_correlation(uint32_t correlation_id) {
  thread_state().of_caller = correlation_id;
}

uint64_t host_now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint32_t context_id(void* handle) {
  const auto context = Driver::get().contexts.find(static_cast<CUcontext>(handle));
  return context == nullptr ? 0 : static_cast<uint32_t>(context->unique_id());
}

// 0: no such stream.
uint32_t stream_id(void* handle) {
  std::shared_ptr<Stream> stream;
  if (resolve_stream(static_cast<CUstream>(handle), stream) != CUDA_SUCCESS) return 0;
  return static_cast<uint32_t>(stream->unique_id);
}

uint32_t context_device(void* handle) {
  const auto context = Driver::get().contexts.find(static_cast<CUcontext>(handle));
  return context == nullptr ? UINT32_MAX : static_cast<uint32_t>(context->device());
}

void* current_context() {
  CUcontext context = nullptr;
  if (Driver::get().initialized() != CUDA_SUCCESS || cuCtxGetCurrent(&context) != CUDA_SUCCESS)
    return nullptr;
  return context;
}

}  // namespace

constinit simdevice::ToolsHooks tools_hooks{
    .set_thread_correlation = &set_thread_correlation,
    .next_correlation = &next_correlation,
    .drain_activity = &drain_trace,
    .context_id = &context_id,
    .stream_id = &stream_id,
    .context_device = &context_device,
    .current_context = &current_context,
};

uint32_t call_correlation() {
  const ThreadState& state = thread_state();
  return state.of_call != 0 ? state.of_call : state.of_caller;
}

const char* lasting_text(std::string_view text) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string, std::less<>>& texts = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  auto found = texts.find(text);
  if (found == texts.end()) found = texts.emplace(text).first;
  return found->c_str();
}

const char* kernel_name(CUfunction handle) {
  std::shared_ptr<Function> function;
  if (Driver::get().initialized() != CUDA_SUCCESS) return nullptr;
  if (resolve_function(handle, function) != CUDA_SUCCESS) return nullptr;
  return lasting_text(function->info.name);
}

void begin_call(const ReportedCall& reported, simdevice::ToolsCall& call) {
  ThreadState& state = thread_state();
  call.cbid = reported.cbid;
  call.function = reported.function;
  call.params = reported.params;
  call.symbol = reported.kernel;
  call.context = current_context();
  call.correlation_id = state.of_caller != 0 ? state.of_caller : next_correlation();
  call.start_ns = host_now_ns();
  if (const auto handler = tools_hooks.on_call.load(std::memory_order_acquire)) handler(call, true);
  state.of_call = call.correlation_id;
}

void end_call(simdevice::ToolsCall& call, CUresult& result) {
  thread_state().of_call = 0;
  call.end_ns = host_now_ns();
  call.result = &result;
  if (const auto handler = tools_hooks.on_call.load(std::memory_order_acquire))
    handler(call, false);
}

}  // namespace gacer::simdriver
