# SPDX-License-Identifier: Apache-2.0
"""Assembly of the shim's exported symbols, by architecture; gen_hooks.py fills in names and numbers.

hooked      name                  a jump to gacer_hook_NAME
forwarder   name, offset, index   counts, then jumps by the table; starts at the code that resolves it
first_call                        saves every register that may hold an argument, asks gacer_forward_resolve
dlopen                            asks gacer_dlopen_name, then jumps: glibc takes the caller (its RUNPATH, its
                                  namespace) from the return address
The counter is a plain increment: two threads may lose one, which is the price of an atomic one.
"""

X86_64 = {
    "hooked": """
    .globl {name}
    .type {name}, @function
    .p2align 4
{name}:
    jmp gacer_hook_{name}
    .size {name}, .-{name}
""",
    "forwarder": """
    .globl {name}
    .type {name}, @function
    .p2align 4
{name}:
.Lforward_{index}:
    incq gacer_forward_counts+{offset}(%rip)
    jmp *gacer_forward_table+{offset}(%rip)
    .size {name}, .-{name}
.Lresolve_{index}:
    movl ${index}, %eax
    jmp gacer_forward_first_call
""",
    # %al is the vector register count of variadic calls; no driver function is variadic.
    "first_call": """
    .type gacer_forward_first_call, @function
    .p2align 4
gacer_forward_first_call:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $176, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movaps %xmm0, 48(%rsp)
    movaps %xmm1, 64(%rsp)
    movaps %xmm2, 80(%rsp)
    movaps %xmm3, 96(%rsp)
    movaps %xmm4, 112(%rsp)
    movaps %xmm5, 128(%rsp)
    movaps %xmm6, 144(%rsp)
    movaps %xmm7, 160(%rsp)
    movl %eax, %edi
    call gacer_forward_resolve
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movaps 48(%rsp), %xmm0
    movaps 64(%rsp), %xmm1
    movaps 80(%rsp), %xmm2
    movaps 96(%rsp), %xmm3
    movaps 112(%rsp), %xmm4
    movaps 128(%rsp), %xmm5
    movaps 144(%rsp), %xmm6
    movaps 160(%rsp), %xmm7
    leave
    .cfi_def_cfa %rsp, 8
    jmp *%rax
    .cfi_endproc
    .size gacer_forward_first_call, .-gacer_forward_first_call
""",
    "dlopen": """
    .globl dlopen
    .type dlopen, @function
    .p2align 4
dlopen:
    .cfi_startproc
    pushq %rsi
    .cfi_def_cfa_offset 16
    call gacer_dlopen_name
    popq %rsi
    .cfi_def_cfa_offset 8
    movq %rax, %rdi
    movq gacer_real_dlopen(%rip), %rax
    jmp *%rax
    .cfi_endproc
    .size dlopen, .-dlopen
""",
    "answer_success": "xorl %eax, %eax",
}

def _pairs(instruction, register, first_offset, step):
    return "".join(f"    {instruction} {register}{i}, {register}{i + 1}, [sp, #{first_offset + i * step}]\n"
                   for i in range(0, 8, 2))


# x16 and x17 are free between a call and its target.
AARCH64 = {
    "hooked": """
    .globl {name}
    .type {name}, %function
    .p2align 2
{name}:
    b gacer_hook_{name}
    .size {name}, .-{name}
""",
    "forwarder": """
    .globl {name}
    .type {name}, %function
    .p2align 2
{name}:
.Lforward_{index}:
    adrp x16, gacer_forward_counts+{offset}
    ldr x17, [x16, :lo12:gacer_forward_counts+{offset}]
    add x17, x17, #1
    str x17, [x16, :lo12:gacer_forward_counts+{offset}]
    adrp x16, gacer_forward_table+{offset}
    ldr x16, [x16, :lo12:gacer_forward_table+{offset}]
    br x16
    .size {name}, .-{name}
.Lresolve_{index}:
    mov w16, #{index}
    b gacer_forward_first_call
""",
    "first_call": """
    .type gacer_forward_first_call, %function
    .p2align 2
gacer_forward_first_call:
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset 29, -224
    .cfi_offset 30, -216
    mov x29, sp
""" + _pairs("stp", "x", 16, 8) + "    str x8, [sp, #80]\n" + _pairs("stp", "q", 96, 16) + """\
    mov w0, w16
    bl gacer_forward_resolve
    mov x16, x0
""" + _pairs("ldp", "x", 16, 8) + "    ldr x8, [sp, #80]\n" + _pairs("ldp", "q", 96, 16) + """\
    ldp x29, x30, [sp], #224
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size gacer_forward_first_call, .-gacer_forward_first_call
""",
    "dlopen": """
    .globl dlopen
    .type dlopen, %function
    .p2align 2
dlopen:
    .cfi_startproc
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset 29, -32
    .cfi_offset 30, -24
    mov x29, sp
    str x1, [sp, #16]
    bl gacer_dlopen_name
    ldr x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    adrp x16, gacer_real_dlopen
    ldr x16, [x16, :lo12:gacer_real_dlopen]
    br x16
    .cfi_endproc
    .size dlopen, .-dlopen
""",
    "answer_success": "mov w0, wzr",
}

ARCHITECTURES = {"x86_64": X86_64, "aarch64": AARCH64}
