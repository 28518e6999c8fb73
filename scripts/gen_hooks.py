#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the shim's exported symbols from the driver symbol list of the toolkit's stub library.

  gen_hooks.py --stub libcuda.so --hooks interpose/cuda_hooks.def --out DIR [--arch x86_64]

Output: forwarders.S (a jump to gacer_hook_NAME for hooked symbols, a counted lazy forwarder for all others,
the dlopen entry), forward_names.inc (names of the forwarders, by index), exports.map (version script).
A file is rewritten only when its text changes.
"""
import argparse
import pathlib
import re
import subprocess
import sys

EXTRA_EXPORTS = ["dlopen", "gacer_shim_version"]

HEADER = "/* Written by scripts/gen_hooks.py from the driver's symbol list; not for editing. */\n"

HOOKED = """
    .globl {name}
    .type {name}, @function
    .p2align 4
{name}:
    jmp gacer_hook_{name}
    .size {name}, .-{name}
"""

# The counter is a plain increment: two threads may lose one, which is the price of one instruction.
FORWARDER = """
    .globl {name}
    .type {name}, @function
    .p2align 4
{name}:
    incq gacer_forward_counts+{offset}(%rip)
    jmp *gacer_forward_table+{offset}(%rip)
    .size {name}, .-{name}
.Lresolve_{index}:
    movl ${index}, %eax
    jmp gacer_forward_first_call
"""

# %al is the vector register count of variadic calls; no driver function is variadic.
FIRST_CALL = """
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
"""

# glibc takes the caller (its RUNPATH, its namespace) from the return address, so the real dlopen is jumped to.
DLOPEN = """
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
"""


def driver_symbols(stub):
    listing = subprocess.run(["nm", "-D", "--defined-only", stub], check=True, capture_output=True, text=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return sorted({row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] == "T" and row[2].startswith("cu")})


def hooked_symbols(hooks):
    rows = "".join(part.read_text() for part in sorted((hooks.parent / "hooks").glob("*.def")))
    return re.findall(r"^GACER_HOOK\((\w+),", rows, re.MULTILINE)


def assembly(symbols, hooked):
    forwarded = [name for name in symbols if name not in hooked]
    parts = [HEADER, "    .text\n"]
    parts += [HOOKED.format(name=name) for name in symbols if name in hooked]
    parts += [FORWARDER.format(name=name, offset=8 * i, index=i) for i, name in enumerate(forwarded)]
    parts += [FIRST_CALL, DLOPEN]
    parts.append('\n    .section .data.rel.local, "aw"\n    .p2align 3\n')
    parts.append("    .globl gacer_forward_table\n    .hidden gacer_forward_table\ngacer_forward_table:\n")
    parts += [f"    .quad .Lresolve_{i}\n" for i in range(len(forwarded))]
    parts.append("\n    .bss\n    .p2align 3\n    .globl gacer_forward_counts\n    .hidden gacer_forward_counts\n")
    parts.append(f"gacer_forward_counts:\n    .zero {8 * max(len(forwarded), 1)}\n")
    parts.append('\n    .section .note.GNU-stack, "", @progbits\n')
    return "".join(parts), forwarded


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stub", required=True)
    parser.add_argument("--hooks", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--arch", default="x86_64")
    args = parser.parse_args()
    if args.arch != "x86_64":
        sys.exit(f"gen_hooks.py: no forwarders written for {args.arch} yet, only x86_64")
    symbols = driver_symbols(args.stub)
    hooked = set(hooked_symbols(args.hooks)) & set(symbols)
    if len(symbols) < 300 or not hooked:
        sys.exit(f"gen_hooks.py: {args.stub} exports {len(symbols)} driver symbols: not a CUDA driver stub")
    text, forwarded = assembly(symbols, hooked)
    args.out.mkdir(parents=True, exist_ok=True)
    write_if_changed(args.out / "forwarders.S", text)
    write_if_changed(args.out / "forward_names.inc", HEADER + "".join(f'"{name}",\n' for name in forwarded))
    exports = "".join(f"    {name};\n" for name in symbols + EXTRA_EXPORTS)
    write_if_changed(args.out / "exports.map", HEADER + "{\n  global:\n" + exports + "  local:\n    *;\n};\n")


if __name__ == "__main__":
    main()
