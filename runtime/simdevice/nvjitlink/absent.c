// SPDX-License-Identifier: Apache-2.0
// A libnvJitLink.so.13 without functions. NVIDIA's makes machine code, which the simulated device
// cannot run; clients that look for its functions (cuda.core, numba-cuda) find none and link PTX
// with the driver's cuLink* instead.
extern const char simgpu_nvjitlink_is_absent[];
__attribute__((visibility("default"))) const char simgpu_nvjitlink_is_absent[] =
    "link PTX with cuLink*";
