// SPDX-License-Identifier: Apache-2.0
// Entry points: kernel launches of a lone tenant. Each is lone_launch() of launch_path.h, then one
// of two jumps.
//
// On x86-64 they are written out: compilers copy the five stack arguments of cuLaunchKernel through
// registers around the test, which costs more than the test. Everywhere else, and under sanitizers,
// they are plain C++.
#include <cstddef>

#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "interpose/launch_entry.h"
#include "interpose/launch_path.h"

using namespace gacer::interpose;  // NOLINT: entry points are global by nature

extern "C" {

#if defined(__x86_64__) && !defined(GACER_PLAIN_ENTRIES)

// Loads are acquire on x86; %rax, %r10 and %r11 carry no argument of a function without varargs.
#define GACER_LONE_BODY(symbol)                                                                   \
  {                                                                                               \
    __asm__ volatile(                                                                             \
        "movq gacer_fast_path+%c0(%%rip), %%rax\n\t"                                              \
        "testq %%rax, %%rax\n\t"                                                                  \
        "je gacer_gated_" #symbol                                                                 \
        "\n\t"                                                                                    \
        "movl %c3(%%rax), %%r10d\n\t"                                                             \
        "cmpq gacer_fast_path+%c1(%%rip), %%r10\n\t"                                              \
        "jne gacer_gated_" #symbol                                                                \
        "\n\t"                                                                                    \
        "movq %c4(%%rax), %%r11\n\t"                                                              \
        "cmpq gacer_fast_path+%c2(%%rip), %%r11\n\t"                                              \
        "jae gacer_gated_" #symbol                                                                \
        "\n\t"                                                                                    \
        "lock incq %c4(%%rax)\n\t"                                                                \
        "jmp *gacer_driver_table+%c5(%%rip)"                                                      \
        :                                                                                         \
        : "i"(offsetof(FastPath, segment)), "i"(offsetof(FastPath, lone_seq)),                    \
          "i"(offsetof(FastPath, next_check)), "i"(offsetof(gacer::abi::Segment, gate.gate_seq)), \
          "i"(offsetof(gacer::abi::Segment, progress.launches)),                                  \
          "i"(offsetof(DriverTable, symbol)));                                                    \
  }

#define GACER_LONE_KERNEL(symbol)                                                                 \
  [[gnu::naked]] CUresult gacer_hook_##symbol(CUfunction, unsigned, unsigned, unsigned, unsigned, \
                                              unsigned, unsigned, unsigned, CUstream, void**,     \
                                              void**) GACER_LONE_BODY(symbol)
#define GACER_LONE_KERNEL_EX(symbol)                                                             \
  [[gnu::naked]] CUresult gacer_hook_##symbol(const CUlaunchConfig*, CUfunction, void**, void**) \
      GACER_LONE_BODY(symbol)

#else

#define GACER_LONE_KERNEL(symbol)                                                                \
  CUresult gacer_hook_##symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
                               unsigned by, unsigned bz, unsigned smem, CUstream stream,         \
                               void** params, void** extra) {                                    \
    if (!lone_launch())                                                                          \
      return gacer_gated_##symbol(f, gx, gy, gz, bx, by, bz, smem, stream, params, extra);       \
    return gacer_driver_table.symbol(f, gx, gy, gz, bx, by, bz, smem, stream, params, extra);    \
  }
#define GACER_LONE_KERNEL_EX(symbol)                                                      \
  CUresult gacer_hook_##symbol(const CUlaunchConfig* config, CUfunction f, void** params, \
                               void** extra) {                                            \
    if (!lone_launch()) return gacer_gated_##symbol(config, f, params, extra);            \
    return gacer_driver_table.symbol(config, f, params, extra);                           \
  }

#endif

GACER_LONE_KERNEL(cuLaunchKernel)
GACER_LONE_KERNEL(cuLaunchKernel_ptsz)
GACER_LONE_KERNEL_EX(cuLaunchKernelEx)
GACER_LONE_KERNEL_EX(cuLaunchKernelEx_ptsz)

}  // extern "C"
