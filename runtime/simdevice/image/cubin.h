// SPDX-License-Identifier: Apache-2.0
// What a machine-code image (cubin) says about its kernels and variables. The code itself is not
// looked at. NVIDIA documents the container (ELF, machine 190) but not the sections' contents; they
// were read off what nvcc 13.0 writes for sources with known parameters (tests/unit/simimage).
//   .symtab            entry functions: st_other bit 0x10; managed variables: 0x04
//   .nv.info           of each function: registers (0x2f), frame (0x11) and stack (0x12) bytes
//   .nv.info.KERNEL    parameters (0x17, 0x45), their bytes (0x19), block limits (0x05, 0x10)
//   .nv.shared.KERNEL  static shared memory; .nv.global[.init], .nv.constant3: variables
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::simdevice {

struct CubinParam {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct CubinKernel {
  std::string name;
  std::vector<CubinParam> params;  // by position
  uint32_t param_bytes = 0;
  uint32_t regs = 0;
  uint32_t static_smem_bytes = 0;
  uint32_t local_bytes = 0;
  uint32_t max_threads = 0;  // 0: not limited
};

struct CubinGlobal {
  std::string name;
  uint64_t bytes = 0;
  uint64_t align = 0;
  bool is_const = false;
  bool is_managed = false;
  std::vector<uint8_t> initial;  // empty: zero
  // 64-bit words of `initial` that hold an addend to the address of another variable: offset,
  // index.
  std::vector<std::pair<uint64_t, uint32_t>> relocations;
};

struct Cubin {
  uint32_t sm = 0;  // 80
  bool relocatable = false;
  std::vector<CubinKernel> kernels;
  std::vector<CubinGlobal> globals;
};

// Never reads out of bounds; memory is proportional to the image. Error: what is wrong with it.
Result<Cubin> parse_cubin(std::span<const uint8_t> image);

// True: a device of compute capability `device_sm` can run code for `code_sm` (same major, not a
// later minor).
constexpr bool code_runs_on(uint32_t code_sm, uint32_t device_sm) {
  return code_sm / 10 == device_sm / 10 && code_sm % 10 <= device_sm % 10;
}

}  // namespace gacer::simdevice
