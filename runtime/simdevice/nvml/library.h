// SPDX-License-Identifier: Apache-2.0
// The state of NVML in this process, and what all entry points begin with. Thread-safe.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/simdevice/device_models.h"
#include "runtime/simdevice/nvml/board_facts.h"
#include "runtime/simdevice/nvml/nvml_api.h"
#include "runtime/simdevice/nvml/server_view.h"

namespace gacer::simnvml {

// What an nvmlDevice_t points to.
struct Device {
  uint32_t index = 0;
  const simdevice::DeviceModel* model = nullptr;
  const BoardFacts* board = nullptr;

  const DeviceSpec& spec() const { return model->spec; }
  std::string uuid() const;
  std::string serial() const;
  uint32_t pci_bus() const;
  nvmlDevice_t handle() const;
};

class Library {
 public:
  static Library& get();

  // Counted, as nvmlInit_v2 and nvmlShutdown.
  nvmlReturn_t init();
  nvmlReturn_t shutdown();
  bool initialized();

  // Valid until the process ends; empty before init().
  std::vector<const Device*> devices();
  // NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT.
  nvmlReturn_t find(nvmlDevice_t handle, const Device*& out);
  // Those of an idle device where no server runs.
  Figures figures(const Device& device);

 private:
  nvmlReturn_t find_devices();

  std::mutex mutex_;
  int references_ = 0;
  size_t count_ = 0;
  Device devices_[simdevice::kMaxDevices];
  ServerView server_;
};

// answer(device) for a valid handle.
template <typename Answer>
nvmlReturn_t with_device(nvmlDevice_t handle, const Answer& answer) {
  const Device* device = nullptr;
  if (const nvmlReturn_t found = Library::get().find(handle, device); found != NVML_SUCCESS)
    return found;
  return answer(*device);
}

// *out = value(device); NULL is NVML_ERROR_INVALID_ARGUMENT.
template <typename T, typename Value>
nvmlReturn_t give(nvmlDevice_t handle, T* out, const Value& value) {
  return with_device(handle, [&](const Device& device) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = static_cast<T>(value(device));
    return NVML_SUCCESS;
  });
}

// NVML_ERROR_INVALID_ARGUMENT, NVML_ERROR_INSUFFICIENT_SIZE.
nvmlReturn_t copy_text(std::string_view text, char* out, unsigned length);

// How NVML fills arrays: `*count` says how many fit and gets how many there are.
// NVML_ERROR_INSUFFICIENT_SIZE when they do not fit.
template <typename T>
nvmlReturn_t copy_list(const std::vector<T>& list, unsigned* count, T* out) {
  if (count == nullptr || (*count > 0 && out == nullptr)) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned room = *count;
  *count = static_cast<unsigned>(list.size());
  if (room < list.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (size_t i = 0; i < list.size(); ++i) out[i] = list[i];
  return NVML_SUCCESS;
}

}  // namespace gacer::simnvml
