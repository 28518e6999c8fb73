// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/driver_checks.h"

#include <fmt/core.h>

#include <charconv>
#include <filesystem>

namespace gacer::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRuntimeStem = "libcudart.so.";
constexpr int kExclusiveProcess = 3;  // CU_COMPUTEMODE_EXCLUSIVE_PROCESS
constexpr int kProhibited = 2;        // CU_COMPUTEMODE_PROHIBITED

bool is_cuda_library(const std::string& name) {
  for (const char* stem : {"libcudart", "libcublas", "libcudnn", "libcufft", "libnccl", "libnvrtc",
                           "libcusparse", "libcusolver", "libcurand", "libtorch_cuda"})
    if (name.rfind(stem, 0) == 0) return true;
  return false;
}

int major_version(const std::string& name) {
  const std::string stem = kRuntimeStem;
  int number = 0;
  if (name.rfind(stem, 0) == 0)
    std::from_chars(name.data() + stem.size(), name.data() + name.size(), number);
  return number;
}

const char* mode_text(int mode) {
  switch (mode) {
    case kExclusiveProcess:
      return "exclusive-process: only one process (or the MPS server) may use it";
    case kProhibited:
      return "prohibited: no process may use it";
    default:
      return "default";
  }
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Check driver_check(const ProbeReport& report) {
  if (report.driver_path.empty())
    return warn("driver",
                "no libcuda.so.1 in GACER_REAL_LIBCUDA, LD_LIBRARY_PATH, the loader's cache or the "
                "usual folders: CUDA calls will answer 'no device'");
  return ok("driver", fmt::format("{}, CUDA {}", report.driver_path,
                                  cuda_version_text(report.driver_version)));
}

std::string own_driver(const std::vector<LoadedLibrary>& without_shim) {
  for (const LoadedLibrary& library : without_shim)
    if (library.name == "libcuda.so.1") return library.path;
  return "";
}

Check own_driver_check(const ProbeReport& report, const std::string& own_driver) {
  std::error_code ignored;
  if (own_driver.empty()) return ok("driver-path", "the program is not linked to a driver");
  if (fs::equivalent(own_driver, report.driver_path, ignored))
    return ok("driver-path", "calls go on to " + own_driver + ", which the program is linked to");
  return warn("driver-path",
              fmt::format("the program is linked to {}, but calls go on to {}: unset or correct "
                          "GACER_REAL_LIBCUDA",
                          own_driver, report.driver_path.empty() ? "none" : report.driver_path));
}

Check toolkit_check(const Program& program, const std::vector<LoadedLibrary>& libraries,
                    int driver_version) {
  Check check = ok("toolkit", "");
  for (const LoadedLibrary& library : libraries) {
    if (!is_cuda_library(library.name)) continue;
    check.text += (check.text.empty() ? "" : ", ") + library.name;
    check.details.push_back(library.name + " => " +
                            (library.path.empty() ? "not found" : library.path));
    if (const int major = major_version(library.name);
        major * 1000 > driver_version / 1000 * 1000 && driver_version != 0)
      check = warn("toolkit", fmt::format("{} is newer than the driver's CUDA {}; it needs a newer "
                                          "driver or a compat package",
                                          library.name, cuda_version_text(driver_version)));
  }
  if (check.text.empty())
    check.text = program.elf.has_gpu_code
                     ? "GPU code in the program, the CUDA runtime linked statically"
                     : "no CUDA library is linked; it may still be loaded later";
  return check;
}

Check gpu_check(const ProbeReport& report) {
  if (report.gpu_result != 0)
    return fail("gpu",
                fmt::format("cuInit or cuDeviceGetCount answers error {}", report.gpu_result));
  Check check = ok("gpu", fmt::format("{} device(s)", report.devices.size()));
  for (const ProbeDevice& device : report.devices) {
    const std::string line = fmt::format("{} {}, compute mode {}", device.ordinal, device.name,
                                         mode_text(device.compute_mode));
    check.details.push_back(line);
    check.text += "; " + line;
    if (device.compute_mode != 0) check.level = Level::kWarn;
  }
  return check;
}

}  // namespace gacer::tools::doctor
