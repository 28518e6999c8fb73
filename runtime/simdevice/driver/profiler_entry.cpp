// SPDX-License-Identifier: Apache-2.0
// cuProfiler*: there is no profiler to start, so starting one succeeds.
#include "runtime/simdevice/driver/context.h"
#include "runtime/simdevice/driver/cuda_api.h"

using namespace gacer::simdriver;

// Documented as no longer supported; there are no counters to configure.
CUresult cuProfilerInitialize(const char*, const char*, CUoutput_mode) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuProfilerStart() {
  std::shared_ptr<Context> context;
  return current_context(context);
}
CUresult cuProfilerStop() {
  std::shared_ptr<Context> context;
  return current_context(context);
}
