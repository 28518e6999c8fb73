#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_symbols.py STUB OUTPUT.S [--arch A] [--extra N] [--drop N] [NAME...]: a weak function that answers success for
each driver symbol of the stub; the named ones and each N-th (--drop) left out, N unknown ones (--extra) added and
two more that sound like a launch and an allocation."""
import argparse
import subprocess

ANSWER_SUCCESS = {"x86_64": "xorl %eax, %eax", "aarch64": "mov w0, wzr"}

WEAK = """
    .weak {name}
    .type {name}, %function
    .p2align 4
{name}:
    {answer}
    ret
    .size {name}, .-{name}
"""


def driver_names(stub):
    listing = subprocess.run(["nm", "-D", "--defined-only", stub], check=True, capture_output=True, text=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return sorted({row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] == "T" and row[2].startswith("cu")})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stub")
    parser.add_argument("output")
    parser.add_argument("left_out", nargs="*")
    parser.add_argument("--arch", default="x86_64")
    parser.add_argument("--extra", type=int, default=0)
    parser.add_argument("--drop", type=int, default=0)
    args = parser.parse_args()
    names = [name for i, name in enumerate(driver_names(args.stub))
             if name not in args.left_out and (args.drop == 0 or i % args.drop != 0)]
    names += [f"cuFuture{i:02}" for i in range(args.extra)]
    names += ["cuLaunchFuture", "cuMemAllocFuture"] if args.extra else []
    with open(args.output, "w", encoding="ascii") as file:
        answer = ANSWER_SUCCESS[args.arch]
        file.write("    .text\n" + "".join(WEAK.format(name=name, answer=answer) for name in names))
        file.write('\n    .section .data.rel.ro, "aw"\n    .globl null_symbols\n    .hidden null_symbols\nnull_symbols:\n')
        file.write("".join(f"    .quad .Ln_{name}, {name}\n" for name in names) + "    .quad 0, 0\n")
        file.write("    .section .rodata\n" + "".join(f'.Ln_{name}: .asciz "{name}"\n' for name in names))
        file.write('\n    .section .note.GNU-stack, "", %progbits\n')


if __name__ == "__main__":
    main()
