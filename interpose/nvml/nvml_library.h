// SPDX-License-Identifier: Apache-2.0
// The NVML that this process has loaded, and the face that dlopen hands out for it.
#pragma once

namespace gacer::interpose::nvml {

// A function of the NVML that is loaded here, past our own exports. NULL: none is loaded, or it
// lacks the function. Never loads one. Thread-safe.
void* loaded_function(const char* symbol);

// What dlopen(file, mode) should open instead: the face, where `file` names NVML and opening the
// face would succeed or fail as `file` would; else NULL. Thread-safe; may load the library that an
// absolute path names.
const char* face_for(const char* file, int mode);

// Last component libnvidia-ml.so, libnvidia-ml.so.1 or libnvidia-ml.so.<version>.
bool names_nvml(const char* file);

}  // namespace gacer::interpose::nvml
