/* SPDX-License-Identifier: Apache-2.0 */
/* The least that an interposer can do, as two preloads (GACER_LIMIT selects): a bare tail jump, and a tail jump after
   one relaxed increment and one acquire load of words in shared pages. Pointers are filled by limit_setup.cpp. */
    .text
    .macro entry name, slot
    .globl \name
    .type \name, @function
    .p2align 4
\name:
#ifdef GACER_LIMIT
    movq limit_counter(%rip), %rax
    lock incq (%rax)
    movq limit_word(%rip), %rax
    movq (%rax), %rax
    testq %rax, %rax
    js limit_never
#endif
    jmp *limit_real+\slot(%rip)
    .size \name, .-\name
    .endm
    entry cuLaunchKernel, 0
    entry cuLaunchKernelEx, 8
    entry cuInit, 16
    entry cuStreamCreate, 24
    entry cuModuleLoadData, 32
    entry cuModuleGetFunction, 40
    entry cuStreamSynchronize, 48
    entry cuStreamDestroy_v2, 56
limit_never:
    ud2
    .section .note.GNU-stack, "", @progbits
