// SPDX-License-Identifier: Apache-2.0
// Kernel launches: checks of a configuration, and the work it makes.
#pragma once

#include "runtime/model/device_spec.h"
#include "runtime/simdevice/driver/module.h"
#include "runtime/simdevice/driver/work.h"

namespace gacer::simdriver {

// What cuLaunchKernel would answer for this configuration on this device, before anything is sent.
CUresult check_launch(const DeviceSpec& spec, const KernelDescription& kernel,
                      uint32_t max_dynamic_smem_bytes, const KernelWork& work);

// Function, shape and packed parameters of a launch or of a kernel node, checked.
CUresult make_kernel_work(CUfunction handle, const unsigned (&grid)[3], const unsigned (&block)[3],
                          unsigned smem, void** params, void** extra, KernelWork& out);
// Checks a work whose function or shape was changed.
CUresult check_kernel_work(const KernelWork& work);

// Applies one launch attribute. Unknown ones are refused, hints are accepted.
CUresult apply_attribute(CUlaunchAttributeID id, const CUlaunchAttributeValue& value,
                         KernelWork& work);

}  // namespace gacer::simdriver
