// SPDX-License-Identifier: Apache-2.0
// dlopen under the shim: every spelling of the driver's name means the shim, all other names are
// untouched.
#pragma once

namespace gacer::interpose {

// Whether this dlopen argument names the driver: its last component is libcuda.so, libcuda.so.1 or
// libcuda.so.<version>. NULL (the main program) does not.
bool names_the_driver(const char* file);

// The same for another library: `stem` is its name up to ".so".
bool names_library(const char* file, const char* stem);

}  // namespace gacer::interpose
