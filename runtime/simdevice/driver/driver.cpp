// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/driver.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/simdevice/device_models.h"
#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/host_function.h"
#include "runtime/simdevice/driver/sim_log.h"
#include "runtime/simdevice/driver/visible_devices.h"

namespace gacer::simdriver {
namespace {

constexpr int kReserveFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

std::vector<std::string> uuid_texts(const DeviceSpec& spec, uint32_t count) {
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < count; ++i) texts.push_back(uuid_text(device_uuid(spec, i)));
  return texts;
}

}  // namespace

Driver& Driver::get() {
  static Driver& driver = *new Driver;
  return driver;
}

CUresult Driver::init() {
  // Before the lock, which another thread of the parent may have held.
  if (state_.load(std::memory_order_acquire) == State::kForked) return CUDA_ERROR_NOT_INITIALIZED;
  const std::lock_guard lock(init_mutex_);
  const State state = state_.load(std::memory_order_acquire);  // pairs with the stores below
  if (state == State::kReady) return CUDA_SUCCESS;
  if (state == State::kNew) init_error_ = connect();
  state_.store(init_error_ == CUDA_SUCCESS ? State::kReady : State::kFailed,
               std::memory_order_release);
  return init_error_;
}

CUresult Driver::connect() {
  read_log_level();
  const Status opened = open_device();
  if (!opened.ok()) {
    sim_log(LogLevel::kError, "no simulated device: %s", opened.error().message.c_str());
    // MPS recovers from a fault: the one refusal that has an error of its own.
    const bool recovers = opened.error().code == CUDA_ERROR_MPS_SERVER_NOT_READY;
    return recovers ? CUDA_ERROR_MPS_SERVER_NOT_READY : CUDA_ERROR_NO_DEVICE;
  }
  if (devices_.empty()) {
    link_.abandon();
    return CUDA_ERROR_NO_DEVICE;
  }
  pthread_atfork(nullptr, nullptr, &Driver::after_fork);
  return CUDA_SUCCESS;
}

Status Driver::open_device() {
  const auto device = link_.open();
  if (!device.ok()) return device.error();
  const simdevice::DeviceModel* model = simdevice::find_device_model(device->key);
  if (model == nullptr)
    return Error{0, "the server simulates " + device->key + ", which this driver does not know"};
  spec_ = model->spec;
  devices_ = visible_devices(getenv("CUDA_VISIBLE_DEVICES"), uuid_texts(spec_, device->count));
  reserve_device_ranges(device->count);
  const Reply mps =
      link_.request(make_message<simdevice::MemAllocMsg>(simdevice::SimType::kMpsQuery));
  mps_ = mps.error == CUDA_SUCCESS && mps.value != 0;
  return {};
}

void Driver::reserve_device_ranges(uint32_t count) {
  using namespace simdevice;
  for (uint32_t i = 0; i < count; ++i) {
    void* wanted = reinterpret_cast<void*>(kDeviceBase + i * kDeviceSpan);
    // Taken already (a sanitizer's shadow): no host pointer of the program can lie there either.
    if (mmap(wanted, spec_.memory_bytes, PROT_NONE, kReserveFlags, -1, 0) == MAP_FAILED)
      sim_log(LogLevel::kDebug, "device address range is not reserved: %s", strerror(errno));
  }
  memory.set_device_range(kDeviceBase, kVirtualEnd - kDeviceBase);
}

std::optional<CUdevice> Driver::ordinal_of(uint32_t index) const {
  const auto found = std::find(devices_.begin(), devices_.end(), index);
  if (found == devices_.end()) return std::nullopt;
  return static_cast<CUdevice>(found - devices_.begin());
}

void Driver::after_fork() {
  Driver& driver = get();
  driver.state_.store(State::kForked, std::memory_order_release);  // pairs with initialized()
  driver.link_.abandon();
}

CUresult Driver::initialized() const {
  if (inside_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  const State state = state_.load(std::memory_order_acquire);  // pairs with init()
  return state == State::kReady ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult Driver::ready() const {
  SIM_TRY(initialized());
  if (!link_.alive()) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  return link_.sticky_error();
}

}  // namespace gacer::simdriver

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return gacer::simdriver::Driver::get().init();
}
