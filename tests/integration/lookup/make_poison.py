#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_poison.py OUTPUT.S LIBRARY...: defines, under their mangled names, the C++ functions and objects of Boost and of our
own namespace that the given static libraries hold. Each traps: a host that exports them proves that nothing of ours
binds to the host's copies."""
import re
import subprocess
import sys

TRAP = """
    .globl {name}
    .type {name}, %function
    .p2align 4
{name}:
    ud2
    .size {name}, .-{name}
"""


def names_in(library):
    listing = subprocess.run(["nm", "--defined-only", library], check=True, capture_output=True, text=True)
    return set(re.findall(r" [A-Za-z] (_Z\w*(?:5boost|5gacer)\w*)$", listing.stdout, re.MULTILINE))


def main():
    output, *libraries = sys.argv[1:]
    names = sorted(set().union(*map(names_in, libraries)))
    for part in ("5boost", "5gacer"):
        if not any(part in name for name in names):
            sys.exit(f"make_poison.py: no name with {part} in {libraries}")
    with open(output, "w", encoding="ascii") as file:
        file.write("    .text\n" + "".join(TRAP.format(name=name) for name in names))
        file.write('\n    .section .note.GNU-stack, "", %progbits\n')


if __name__ == "__main__":
    main()
