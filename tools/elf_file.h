// SPDX-License-Identifier: Apache-2.0
// What an ELF file says about itself, as far as loading and interception go. Any bytes may be in
// the file: everything is checked against its size. Source: elf(5), gABI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::tools {

struct ElfFile {
  uint16_t machine = 0;  // EM_*
  bool is_64_bit = false;
  bool is_dynamic = false;  // has a dynamic section
  std::string interpreter;  // empty: a library, or a static program
  std::string soname;
  std::string rpath;
  std::string runpath;
  std::vector<std::string> needed;
  std::vector<std::string> needed_versions;  // "GLIBC_2.34", every version it asks of others
  std::vector<std::string> functions;        // exported; not in order
  bool has_gpu_code = false;                 // a section .nv_fatbin

  bool is_static() const { return interpreter.empty() && !is_library(); }
  bool is_library() const { return is_dynamic && interpreter.empty() && !has_entry; }
  bool has_entry = false;
};

// ENOENT, EACCES ...: errno of opening it. ENOEXEC: not an ELF file, or a broken one. Of 32-bit and
// big-endian files only `machine` and `is_64_bit` are read.
Result<ElfFile> read_elf(const std::string& path);

// The greatest of `versions` with that prefix ("GLIBC_"), without it: "2.34"; empty: none.
std::string greatest_version(const std::vector<std::string>& versions, const std::string& prefix);
// Numbers between dots are compared as numbers: "2.4" < "2.34".
bool version_less(const std::string& a, const std::string& b);

}  // namespace gacer::tools
