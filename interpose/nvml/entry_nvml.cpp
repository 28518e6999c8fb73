// SPDX-License-Identifier: Apache-2.0
// Entry points: NVML's memory queries. The library is asked first; only its success is ever
// altered.
#include <cstring>

#include "interpose/nvml/nvml_library.h"
#include "interpose/nvml/nvml_memory.h"
#include "interpose/nvml/nvml_share.h"

namespace gacer::interpose::nvml {
namespace {

template <typename Function>
Function* loaded(const char* symbol) {
  void* address = loaded_function(symbol);
  Function* function = nullptr;
  static_assert(sizeof function == sizeof address);
  memcpy(&function, &address, sizeof function);
  return function;
}

bool share_of(Device device, Share& share) {
  auto* get_uuid = loaded<Return(Device, char*, unsigned)>("nvmlDeviceGetUUID");
  char text[kUuidBytes] = "";
  uint8_t uuid[16];
  return get_uuid != nullptr && get_uuid(device, text, sizeof text) == kSuccess &&
         parse_uuid(text, uuid) && share_of_device(uuid, share);
}

template <typename Info>
Return memory_info(const char* symbol, Device device, Info* memory) {
  auto* ask = loaded<Return(Device, Info*)>(symbol);
  if (ask == nullptr) return kFunctionNotFound;
  const Return result = ask(device, memory);
  Share share{};
  if (result == kSuccess && memory != nullptr && share_of(device, share))
    show_share(share, *memory);
  return result;
}

}  // namespace
}  // namespace gacer::interpose::nvml

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

// The names of nvml_hooks.def, each defined below.
#define GACER_NVML_HOOK(symbol) [[maybe_unused]] static const char gacer_row_##symbol[] = #symbol;
#include "interpose/nvml/nvml_hooks.def"

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetMemoryInfo(nvml::Device device,
                                                                    nvml::Memory* memory) {
  return nvml::memory_info(gacer_row_nvmlDeviceGetMemoryInfo, device, memory);
}

[[gnu::visibility("default")]] nvml::Return nvmlDeviceGetMemoryInfo_v2(nvml::Device device,
                                                                       nvml::MemoryV2* memory) {
  return nvml::memory_info(gacer_row_nvmlDeviceGetMemoryInfo_v2, device, memory);
}

}  // extern "C"
