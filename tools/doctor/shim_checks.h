// SPDX-License-Identifier: Apache-2.0
// The shim's file, before anything is started with it.
#pragma once

#include "runtime/base/result.h"
#include "tools/doctor/check.h"
#include "tools/doctor/probe_report.h"
#include "tools/elf_file.h"

namespace gacer::tools::doctor {

// ENOENT, EACCES ...: not readable; ENOEXEC: not a shim of ours (no gacer_shim_version).
Result<ElfFile> read_shim(const std::string& path);

// "2.34": the C library that the shim needs.
std::string needed_glibc(const ElfFile& shim);

// Needed against available, and that the probe has really loaded the shim.
Check glibc_check(const ElfFile& shim, const std::string& available);
Check preload_check(const ProbeReport& report, const std::string& shim_path);

}  // namespace gacer::tools::doctor
