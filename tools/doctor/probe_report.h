// SPDX-License-Identifier: Apache-2.0
// What gacer-probe wrote: facts about one environment, one tab-separated line each; "-" is nobody
// or unknown. Lines that are not understood are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gacer::tools::doctor {

struct Owner {
  std::string object;  // file that holds the address; empty: nobody answered
  std::string name;    // driver symbol that it is or stands for; empty: unknown
};

struct SymbolAnswer {
  std::string way;  // link, handle, default, next, versioned
  std::string symbol;
  Owner owner;
};

struct ProcAnswer {
  int api = 0;      // 1: cuGetProcAddress, 2: cuGetProcAddress_v2
  int version = 0;  // as in CUDA_VERSION
  bool per_thread = false;
  std::string base;
  int result = 0;  // CUresult
  Owner owner;
  Owner drivers;  // what the driver itself answers; no object: it does not have it
};

struct ProbeError {
  std::string part;  // link, handle, driver, gpu
  std::string text;
};

struct ProbeDevice {
  int ordinal = 0;
  int compute_mode = 0;  // CUcomputemode
  std::string name;
};

struct ProbeReport {
  bool complete = false;  // the probe came to its end
  std::string libc_version;
  std::string shim_path;  // empty: no shim in that process
  uint32_t shim_version = 0;
  std::string driver_path;  // empty: none
  int driver_version = 0;   // cuDriverGetVersion; 0: not told
  int gpu_result = -1;      // of cuInit and cuDeviceGetCount; -1: not asked
  std::vector<ProbeDevice> devices;
  std::vector<SymbolAnswer> symbols;
  std::vector<ProcAnswer> procs;
  std::vector<ProbeError> errors;
};

ProbeReport parse_probe_report(std::string_view text);

}  // namespace gacer::tools::doctor
