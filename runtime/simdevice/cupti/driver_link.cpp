// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cupti/driver_link.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <ctime>

namespace gacer::simcupti {
namespace {

void* driver_library() {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library;
}

simdevice::ToolsHooks* find_hooks() {
  using GetTable = CUresult(const void**, const CUuuid*);
  auto* get = driver_function<GetTable>("cuGetExportTable");
  CUuuid id{};
  memcpy(id.bytes, simdevice::kToolsHooksId, sizeof id.bytes);
  const void* table = nullptr;
  if (get == nullptr || get(&table, &id) != CUDA_SUCCESS || table == nullptr) {
    fprintf(stderr,
            "simulated CUPTI: libcuda.so.1 is not the simulated driver; remove this libcupti from "
            "LD_LIBRARY_PATH or put the simulated driver before it\n");
    return nullptr;
  }
  auto* hooks = static_cast<simdevice::ToolsHooks*>(const_cast<void*>(table));
  return hooks->version == simdevice::kToolsHooksVersion ? hooks : nullptr;
}

int& unreported_depth() {
  thread_local int depth = 0;
  return depth;
}

}  // namespace

simdevice::ToolsHooks* driver_hooks() {
  static simdevice::ToolsHooks* const hooks = find_hooks();
  return hooks;
}

void* driver_symbol(const char* name) {
  return driver_library() == nullptr ? nullptr : dlsym(driver_library(), name);
}

Unreported::Unreported() {
  ++unreported_depth();
}
Unreported::~Unreported() {
  --unreported_depth();
}
bool Unreported::active() {
  return unreported_depth() > 0;
}

uint32_t context_id(CUcontext context) {
  simdevice::ToolsHooks* hooks = driver_hooks();
  return hooks == nullptr || context == nullptr ? 0 : hooks->context_id(context);
}

uint32_t stream_id(CUstream stream) {
  simdevice::ToolsHooks* hooks = driver_hooks();
  return hooks == nullptr ? 0 : hooks->stream_id(stream);
}

uint32_t null_stream_id(CUcontext context) {
  const Unreported guard;
  auto* push = driver_function<CUresult(CUcontext)>("cuCtxPushCurrent_v2");
  auto* pop = driver_function<CUresult(CUcontext*)>("cuCtxPopCurrent_v2");
  if (push == nullptr || pop == nullptr || push(context) != CUDA_SUCCESS) return 0;
  const uint32_t id = stream_id(nullptr);
  (void)pop(&context);
  return id;
}

uint32_t device_of(CUcontext context) {
  simdevice::ToolsHooks* hooks = driver_hooks();
  return hooks == nullptr ? UINT32_MAX : hooks->context_device(context);
}

CUcontext current_context() {
  simdevice::ToolsHooks* hooks = driver_hooks();
  return hooks == nullptr ? nullptr : static_cast<CUcontext>(hooks->current_context());
}

uint64_t host_now_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace gacer::simcupti
