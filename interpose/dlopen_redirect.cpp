// SPDX-License-Identifier: Apache-2.0
#include "interpose/dlopen_redirect.h"

#include <cstring>

namespace gacer::interpose {

bool names_the_driver(const char* file) {
  if (file == nullptr) return false;
  const char* slash = strrchr(file, '/');
  const char* name = slash != nullptr ? slash + 1 : file;
  constexpr char stem[] = "libcuda.so";
  if (strncmp(name, stem, sizeof stem - 1) != 0) return false;
  const char* rest = name + sizeof stem - 1;
  return *rest == '\0' || (*rest == '.' && strspn(rest, ".0123456789") == strlen(rest));
}

}  // namespace gacer::interpose
