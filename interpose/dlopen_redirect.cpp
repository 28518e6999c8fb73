// SPDX-License-Identifier: Apache-2.0
#include "interpose/dlopen_redirect.h"

#include <cstring>

namespace gacer::interpose {

bool names_the_driver(const char* file) {
  return names_library(file, "libcuda.so");
}

bool names_library(const char* file, const char* stem) {
  if (file == nullptr) return false;
  const char* slash = strrchr(file, '/');
  const char* name = slash != nullptr ? slash + 1 : file;
  if (strncmp(name, stem, strlen(stem)) != 0) return false;
  const char* rest = name + strlen(stem);
  return *rest == '\0' || (*rest == '.' && strspn(rest, ".0123456789") == strlen(rest));
}

}  // namespace gacer::interpose
