// SPDX-License-Identifier: Apache-2.0
// Processes with a context on a device.
#include "runtime/simdevice/nvml/library.h"

using namespace gacer::simnvml;  // NOLINT: entry points are global by nature

namespace {

constexpr unsigned kNoInstance = 0xFFFFFFFF;  // MIG is off

enum class Which { kCompute, kMps };

nvmlProcessInfo_v1_t to_info(const gacer::simdevice::ProcessFigures& process,
                             const nvmlProcessInfo_v1_t&) {
  return {process.pid, process.used_bytes};
}
nvmlProcessInfo_v2_t to_info(const gacer::simdevice::ProcessFigures& process,
                             const nvmlProcessInfo_v2_t&) {
  return {process.pid, process.used_bytes, kNoInstance, kNoInstance};
}
nvmlProcessDetail_v1_t to_info(const gacer::simdevice::ProcessFigures& process,
                               const nvmlProcessDetail_v1_t&) {
  return {process.pid, process.used_bytes, kNoInstance, kNoInstance, 0};
}

// MPS clients are compute processes too (type "M+C" of nvidia-smi).
template <typename Info>
std::vector<Info> processes(const Device& device, Which which) {
  std::vector<Info> list;
  for (const auto& process : Library::get().figures(device).processes)
    if (which == Which::kCompute || process.mps != 0) list.push_back(to_info(process, Info{}));
  return list;
}

template <typename Info>
nvmlReturn_t give_processes(nvmlDevice_t device, Which which, unsigned* count, Info* infos) {
  return with_device(
      device, [&](const Device& d) { return copy_list(processes<Info>(d, which), count, infos); });
}

// Nothing draws.
template <typename Info>
nvmlReturn_t give_none(nvmlDevice_t device, unsigned* count, Info* infos) {
  return with_device(device,
                     [&](const Device&) { return copy_list(std::vector<Info>(), count, infos); });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* infos) {
  return give_processes(device, Which::kCompute, count, infos);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  return give_processes(device, Which::kCompute, count, infos);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count,
                                                  nvmlProcessInfo_v1_t* infos) {
  return give_processes(device, Which::kCompute, count, infos);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                        nvmlProcessInfo_t* infos) {
  return give_processes(device, Which::kMps, count, infos);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                        nvmlProcessInfo_v2_t* infos) {
  return give_processes(device, Which::kMps, count, infos);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v1_t* infos) {
  return give_processes(device, Which::kMps, count, infos);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                      nvmlProcessInfo_t* infos) {
  return give_none(device, count, infos);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                      nvmlProcessInfo_v2_t* infos) {
  return give_none(device, count, infos);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned* count,
                                                   nvmlProcessInfo_v1_t* infos) {
  return give_none(device, count, infos);
}

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                   nvmlProcessDetailList_t* list) {
  return with_device(device, [&](const Device& d) {
    if (list == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (list->version != nvmlProcessDetailList_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    constexpr unsigned kCompute = 0, kGraphics = 1, kMps = 2;
    if (list->mode > kMps) return NVML_ERROR_INVALID_ARGUMENT;
    std::vector<nvmlProcessDetail_v1_t> all;
    if (list->mode != kGraphics)
      all = processes<nvmlProcessDetail_v1_t>(
          d, list->mode == kCompute ? Which::kCompute : Which::kMps);
    return copy_list(all, &list->numProcArrayEntries, list->procArray);
  });
}
