// SPDX-License-Identifier: Apache-2.0
// nvmlInit*, nvmlShutdown, nvmlErrorString, nvmlSystem*, units and excluded devices (there are
// none)
#include <fstream>
#include <string>

#include "runtime/simdevice/device_identity.h"
#include "runtime/simdevice/nvml/library.h"

using namespace gacer;           // NOLINT: entry points are global by nature
using namespace gacer::simnvml;  // NOLINT

namespace {

// The first release with CUDA 13.0.
constexpr char kDriverVersion[] = "580.65.06";
constexpr char kDriverBranch[] = "r580_65";
constexpr char kNvmlVersion[] = "13.580.65.06";

// NVML_ERROR_UNINITIALIZED, else answer().
template <typename Answer>
nvmlReturn_t initialized(const Answer& answer) {
  return Library::get().initialized() ? answer() : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t none_there(unsigned* count) {
  return initialized([&] {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
  });
}

}  // namespace

nvmlReturn_t nvmlInit_v2() {
  return Library::get().init();
}
nvmlReturn_t nvmlInit() {
  return Library::get().init();
}
nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
  if ((flags & ~(NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH)) != 0)
    return NVML_ERROR_INVALID_ARGUMENT;
  return Library::get().init();
}
nvmlReturn_t nvmlShutdown() {
  return Library::get().shutdown();
}

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
#define GACER_NVML_ERROR(code, text) \
  case code:                         \
    return text;
#include "runtime/simdevice/nvml/errors.def"
#undef GACER_NVML_ERROR
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return initialized([&] { return copy_text(kDriverVersion, version, length); });
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return copy_text(kNvmlVersion, version, length);
}
nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t* info, unsigned length) {
  return initialized([&] {
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlSystemDriverBranchInfo_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return copy_text(kDriverBranch, info->branch, length);
  });
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *version = simdevice::kCudaDriverVersion;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  return initialized([&] {
    if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
    std::string command;
    if (!std::getline(file, command, '\0') || command.empty()) return NVML_ERROR_NOT_FOUND;
    // "Process name (may be truncated)".
    return copy_text(command.substr(0, length - 1), name, length);
  });
}

nvmlReturn_t nvmlSystemGetHicVersion(unsigned* count, nvmlHwbcEntry_t* /*entries*/) {
  return none_there(count);
}
nvmlReturn_t nvmlUnitGetCount(unsigned* count) {
  return none_there(count);
}
nvmlReturn_t nvmlUnitGetHandleByIndex(unsigned /*index*/, nvmlUnit_t* /*unit*/) {
  return initialized([] { return NVML_ERROR_INVALID_ARGUMENT; });
}
nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned* count) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGetExcludedDeviceInfoByIndex(unsigned /*index*/,
                                              nvmlExcludedDeviceInfo_t* /*info*/) {
  return NVML_ERROR_INVALID_ARGUMENT;
}
