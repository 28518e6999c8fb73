// SPDX-License-Identifier: Apache-2.0
// What the generated wrappers are made of.
#pragma once

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/stub.h"
#include "runtime_impl.h"

using namespace gacer::cudart;  // NOLINT: generated code only
