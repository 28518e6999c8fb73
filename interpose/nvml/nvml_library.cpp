// SPDX-License-Identifier: Apache-2.0
#include "interpose/nvml/nvml_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>

#include "interpose/dlopen_redirect.h"
#include "interpose/driver.h"

namespace gacer::interpose::nvml {
namespace {

constexpr char kSoname[] = "libnvidia-ml.so.1";
constexpr char kFaceFile[] = "libgacer-nvml.so";

// The face lies beside the shim. Empty: it does not.
const char* face_path() {
  struct Path {
    char text[PATH_MAX] = "";
    Path() {
      Dl_info own{};
      if (dladdr(reinterpret_cast<void*>(&face_path), &own) == 0 || own.dli_fname == nullptr)
        return;
      const char* slash = strrchr(own.dli_fname, '/');
      if (slash == nullptr) return;
      const int folder_bytes = static_cast<int>(slash - own.dli_fname);
      const int length =
          snprintf(text, sizeof text, "%.*s/%s", folder_bytes, own.dli_fname, kFaceFile);
      if (length >= static_cast<int>(sizeof text) || access(text, R_OK) != 0) text[0] = '\0';
    }
  };
  static const Path path;
  return path.text;
}

}  // namespace

bool names_nvml(const char* file) {
  return names_library(file, "libnvidia-ml.so");
}

const char* face_for(const char* file, int mode) {
  // RTLD_NOLOAD asks whether the program's own library is there: the face would change the answer.
  if (!names_nvml(file) || (mode & RTLD_NOLOAD) != 0 || face_path()[0] == '\0') return nullptr;
  // The face needs libnvidia-ml.so.1: have it find the very file that was named.
  if (strcmp(file, kSoname) != 0 && real_dlopen()(file, RTLD_LAZY | RTLD_LOCAL) == nullptr)
    return nullptr;
  return real_dlopen()(face_path(), RTLD_LAZY | RTLD_LOCAL) != nullptr ? face_path() : nullptr;
}

void* loaded_function(const char* symbol) {
  static std::atomic<void*> library{nullptr};
  void* handle = library.load(std::memory_order_relaxed);
  if (handle == nullptr) {
    handle = real_dlopen()(kSoname, RTLD_NOLOAD | RTLD_LAZY);
    library.store(handle, std::memory_order_relaxed);
  }
  return handle == nullptr ? nullptr : dlsym(handle, symbol);
}

}  // namespace gacer::interpose::nvml
