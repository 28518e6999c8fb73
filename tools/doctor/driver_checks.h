// SPDX-License-Identifier: Apache-2.0
// Driver and toolkit as the command will find them.
#pragma once

#include "tools/doctor/check.h"
#include "tools/doctor/environment.h"

namespace gacer::tools::doctor {

// Version, and that the shim passes calls on to the libcuda.so.1 that the program would have had.
Check driver_check(const ProbeReport& report);
// The libcuda.so.1 that the program is linked to, its RPATH and RUNPATH included; empty: none.
// `without_shim`: list_libraries() in the command's environment before the shim.
std::string own_driver(const std::vector<LoadedLibrary>& without_shim);
Check own_driver_check(const ProbeReport& report, const std::string& own_driver);
Check toolkit_check(const Program& program, const std::vector<LoadedLibrary>& libraries,
                    int driver_version);
// Of the probe's --gpu part.
Check gpu_check(const ProbeReport& report);

// 12040 -> "12.4"
std::string cuda_version_text(int version);

}  // namespace gacer::tools::doctor
