// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/nvml/library.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/simdevice/device_identity.h"

namespace gacer::simnvml {
namespace {

// What a server would simulate if the driver started one now.
ServerView::Devices from_environment() {
  const char* key = getenv("SIMGPU_DEVICE");
  const char* count = getenv("SIMGPU_DEVICES");
  const long wanted = count == nullptr ? 1 : strtol(count, nullptr, 10);
  const bool usable = wanted >= 1 && wanted <= simdevice::kMaxDevices;
  return {key == nullptr ? "" : key, usable ? static_cast<uint32_t>(wanted) : 1U};
}

}  // namespace

std::string Device::uuid() const {
  return simdevice::uuid_text(simdevice::device_uuid_bytes(spec(), index));
}

std::string Device::serial() const {
  uint64_t half = 0;
  memcpy(&half, simdevice::device_uuid_bytes(spec(), index).data(), sizeof half);
  char text[16];
  snprintf(text, sizeof text, "%013llu",
           static_cast<unsigned long long>(half % 10'000'000'000'000));
  return text;
}

uint32_t Device::pci_bus() const {
  return simdevice::kFirstPciBus + index;
}

nvmlDevice_t Device::handle() const {
  return reinterpret_cast<nvmlDevice_t>(const_cast<Device*>(this));
}

Library& Library::get() {
  static Library& library = *new Library;
  return library;
}

nvmlReturn_t Library::init() {
  const std::lock_guard lock(mutex_);
  if (references_ == 0) {
    if (const nvmlReturn_t found = find_devices(); found != NVML_SUCCESS) return found;
  }
  ++references_;
  return NVML_SUCCESS;
}

nvmlReturn_t Library::find_devices() {
  const auto running = server_.devices();
  const ServerView::Devices devices = running ? *running : from_environment();
  const simdevice::DeviceModel* model = simdevice::find_device_model(devices.key);
  const BoardFacts* board = model == nullptr ? nullptr : find_board(model->spec.key);
  if (board == nullptr) {
    fprintf(stderr, "simulated NVML: no device \"%s\"; SIMGPU_DEVICE is one of %s\n",
            devices.key.c_str(), simdevice::device_model_keys().c_str());
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  count_ = devices.count;
  for (uint32_t i = 0; i < devices.count; ++i) devices_[i] = {i, model, board};
  return NVML_SUCCESS;
}

nvmlReturn_t Library::shutdown() {
  const std::lock_guard lock(mutex_);
  if (references_ == 0) return NVML_ERROR_UNINITIALIZED;
  if (--references_ == 0) server_ = ServerView();
  return NVML_SUCCESS;
}

bool Library::initialized() {
  const std::lock_guard lock(mutex_);
  return references_ > 0;
}

std::vector<const Device*> Library::devices() {
  const std::lock_guard lock(mutex_);
  std::vector<const Device*> all;
  for (size_t i = 0; references_ > 0 && i < count_; ++i) all.push_back(&devices_[i]);
  return all;
}

nvmlReturn_t Library::find(nvmlDevice_t handle, const Device*& out) {
  const std::lock_guard lock(mutex_);
  if (references_ == 0) return NVML_ERROR_UNINITIALIZED;
  for (size_t i = 0; i < count_; ++i) {
    if (devices_[i].handle() != handle) continue;
    out = &devices_[i];
    return NVML_SUCCESS;
  }
  return NVML_ERROR_INVALID_ARGUMENT;
}

Figures Library::figures(const Device& device) {
  const std::lock_guard lock(mutex_);
  if (auto figures = server_.figures(device.spec().key, device.index)) return std::move(*figures);
  Figures idle;
  idle.device.total_bytes = device.spec().memory_bytes;
  idle.device.free_bytes = device.spec().memory_bytes;
  return idle;
}

nvmlReturn_t copy_text(std::string_view text, char* out, unsigned length) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return NVML_SUCCESS;
}

}  // namespace gacer::simnvml
