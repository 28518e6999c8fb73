// SPDX-License-Identifier: Apache-2.0
// The driver below: libcuda.so.1 by its documented interface only, asked for by cuGetProcAddress,
// so that a preloaded shim answers first. Thread-safe.
#pragma once

#include <cuda.h>
#include <cudaProfiler.h>

namespace gacer::cudart {

// Entry points of one default-stream flavour. A function that the driver lacks answers
// CUDA_ERROR_NOT_SUPPORTED.
struct Driver {
#define CU(name, version) decltype(&::name) name = nullptr;
#include "runtime/simdevice/cudart/driver_api.def"
#undef CU
};

// Loads the driver on first use. The tables are complete even where there is no driver.
const Driver& legacy_driver();
const Driver& per_thread_driver();

// Whether libcuda.so.1 was found; otherwise every need of it is cudaErrorInsufficientDriver.
bool driver_found();

// cuInit, once; its result ever after.
CUresult driver_ready();

// The driver's own lookup, for cudaGetDriverEntryPoint. `per_thread`: the flavour of the caller.
CUresult driver_lookup(const char* name, void** out, int cuda_version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult* status);

}  // namespace gacer::cudart
