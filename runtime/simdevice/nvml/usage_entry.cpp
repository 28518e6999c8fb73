// SPDX-License-Identifier: Apache-2.0
// Memory and utilisation.
#include <algorithm>
#include <ctime>

#include "runtime/simdevice/nvml/library.h"

using namespace gacer::simnvml;  // NOLINT: entry points are global by nature

namespace {

constexpr uint64_t kMib = 1 << 20;

unsigned percent(double part, double whole) {
  return whole <= 0 ? 0 : static_cast<unsigned>(std::min(100.0, 100.0 * part / whole + 0.5));
}

unsigned kernel_percent(const Figures& figures) {
  return percent(static_cast<double>(figures.device.busy_ns),
                 static_cast<double>(figures.device.window_ns));
}

unsigned memory_percent(const Device& device, const Figures& figures) {
  return percent(static_cast<double>(figures.device.memory_bytes),
                 static_cast<double>(figures.device.window_ns) * device.spec().dram_bytes_per_ns);
}

unsigned long long now_us() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<unsigned long long>(time.tv_sec) * 1'000'000 +
         static_cast<unsigned long long>(time.tv_nsec) / 1000;
}

// The processes whose kernels ran in the newest window. T: one of NVML's sample structures.
template <typename T>
std::vector<T> process_samples(const Device& device, unsigned long long seen_us) {
  std::vector<T> samples;
  const Figures figures = Library::get().figures(device);
  const unsigned long long at_us = now_us();
  for (const auto& process : figures.processes) {
    if (process.busy_ns == 0 || at_us <= seen_us) continue;
    T sample{};
    sample.pid = process.pid;
    sample.timeStamp = at_us;
    sample.smUtil = percent(static_cast<double>(process.busy_ns),
                            static_cast<double>(figures.device.window_ns));
    samples.push_back(sample);
  }
  return samples;
}

// "NVML_ERROR_NOT_FOUND if sample entries are not found"; a NULL array asks for the size.
template <typename T>
nvmlReturn_t give_samples(const std::vector<T>& samples, T* out, unsigned* count) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (out == nullptr) *count = 0;
  const nvmlReturn_t copied = copy_list(samples, count, out);
  return copied == NVML_SUCCESS && samples.empty() ? NVML_ERROR_NOT_FOUND : copied;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return with_device(device, [&](const Device& d) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const Figures figures = Library::get().figures(d);
    memory->total = figures.device.total_bytes;
    memory->free = figures.device.free_bytes;
    memory->used = memory->total - memory->free;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return with_device(device, [&](const Device& d) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const Figures figures = Library::get().figures(d);
    memory->total = figures.device.total_bytes;
    memory->reserved = 0;
    memory->free = figures.device.free_bytes;
    memory->used = memory->total - memory->free;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory) {
  return with_device(device, [&](const Device& d) {
    if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (d.board->bar1_mib == 0) return NVML_ERROR_NOT_SUPPORTED;
    memory->bar1Total = d.board->bar1_mib * kMib;
    memory->bar1Used = 0;
    memory->bar1Free = memory->bar1Total;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* bits) {
  return give(device, bits, [](const Device& d) { return d.board->memory_bus_bits; });
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return with_device(device, [&](const Device& d) {
    if (utilization == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const Figures figures = Library::get().figures(d);
    utilization->gpu = kernel_percent(figures);
    utilization->memory = memory_percent(d, figures);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
                                  unsigned long long seen_us, nvmlValueType_t* value_type,
                                  unsigned* count, nvmlSample_t* samples) {
  return with_device(device, [&](const Device& d) {
    if (value_type == nullptr || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const bool kernels = type == NVML_GPU_UTILIZATION_SAMPLES;
    if (!kernels && type != NVML_MEMORY_UTILIZATION_SAMPLES) return NVML_ERROR_NOT_SUPPORTED;
    const Figures figures = Library::get().figures(d);
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    nvmlSample_t newest{};
    newest.timeStamp = now_us();
    newest.sampleValue.uiVal = kernels ? kernel_percent(figures) : memory_percent(d, figures);
    if (newest.timeStamp <= seen_us) return NVML_ERROR_NOT_FOUND;
    if (samples == nullptr) {
      *count = 1;
      return NVML_SUCCESS;
    }
    return copy_list(std::vector<nvmlSample_t>{newest}, count, samples);
  });
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t* samples,
                                             unsigned* count, unsigned long long seen_us) {
  return with_device(device, [&](const Device& d) {
    return give_samples(process_samples<nvmlProcessUtilizationSample_t>(d, seen_us), samples,
                        count);
  });
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
                                                   nvmlProcessesUtilizationInfo_t* info) {
  return with_device(device, [&](const Device& d) {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlProcessesUtilizationInfo_v1)
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return give_samples(
        process_samples<nvmlProcessUtilizationInfo_v1_t>(d, info->lastSeenTimeStamp),
        info->procUtilArray, &info->processSamplesCount);
  });
}
