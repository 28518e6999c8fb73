#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_symbols.py STUB OUTPUT.S [NAME...]: a weak function that answers success for each driver symbol of the stub,
those named left out."""
import subprocess
import sys

WEAK = """
    .weak {name}
    .type {name}, @function
    .p2align 4
{name}:
    xorl %eax, %eax
    ret
    .size {name}, .-{name}
"""


def main():
    stub, output, *left_out = sys.argv[1:]
    listing = subprocess.run(["nm", "-D", "--defined-only", stub], check=True, capture_output=True, text=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    names = sorted({row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] == "T" and row[2].startswith("cu")}
                   - set(left_out))
    with open(output, "w", encoding="ascii") as file:
        file.write("    .text\n" + "".join(WEAK.format(name=name) for name in names))
        file.write('\n    .section .data.rel.ro, "aw"\n    .globl null_symbols\n    .hidden null_symbols\nnull_symbols:\n')
        file.write("".join(f"    .quad .Ln_{name}, {name}\n" for name in names) + "    .quad 0, 0\n")
        file.write("    .section .rodata\n" + "".join(f'.Ln_{name}: .asciz "{name}"\n' for name in names))
        file.write('\n    .section .note.GNU-stack, "", @progbits\n')


if __name__ == "__main__":
    main()
