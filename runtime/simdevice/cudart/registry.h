// SPDX-License-Identifier: Apache-2.0
// What nvcc's host code registers before main or by dlopen: fat binaries, kernels by the address of
// their host stub, variables by the address of their host shadow. A fat binary is given to the
// driver (cuLibraryLoadData) when something of it is first used, so that a program that never calls
// CUDA never touches the driver. Thread-safe.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

class FatBinary;

FatBinary* add_fat_binary(const void* wrapper);
void remove_fat_binary(FatBinary* binary);
void add_kernel(FatBinary* binary, const void* host_function, const char* device_name);
void add_variable(FatBinary* binary, const void* host_variable, const char* device_name,
                  size_t bytes);
// `host_pointer`: where the program reads the variable's address.
void add_managed_variable(FatBinary* binary, void** host_pointer, const char* device_name,
                          size_t bytes);
// Sets the addresses of the binary's managed variables; needs a current context.
Outcome load_managed_variables(FatBinary* binary);

// The kernel of a host stub's address; cudaErrorInvalidDeviceFunction when it is none, or why its
// fat binary does not load.
Outcome find_kernel(const void* host_function, CUkernel& out);

// As find_kernel, and kernels and functions of the driver are themselves.
Outcome find_function(const void* function, CUfunction& out);

// The function in the current context, for attributes.
Outcome find_loaded_function(const void* function, CUfunction& out);

// What a program means by a function of the driver: the host stub's address, else the handle.
const void* host_function_of(CUfunction function);

// Address and bytes of a device variable in the current context; cudaErrorInvalidSymbol otherwise.
Outcome find_symbol(const void* host_variable, CUdeviceptr& address, size_t& bytes);

// Device name of a registered kernel or of a kernel handle, or null.
const char* kernel_name(const void* function);

}  // namespace gacer::cudart
