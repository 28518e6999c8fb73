// SPDX-License-Identifier: Apache-2.0
// nvml.h with every versioned name spelled out and default visibility, so that each definition is
// checked against its prototype and exported.
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#pragma GCC visibility push(default)
#include <nvml.h>
#pragma GCC visibility pop
