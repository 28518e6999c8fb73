// SPDX-License-Identifier: Apache-2.0
// CUPTI's headers with default visibility, so that each definition is checked against its prototype
// and exported.
#pragma once

// The parameter structures name types of all versions.
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
//
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>
#include <generated_cuda_meta.h>
#pragma GCC visibility pop
