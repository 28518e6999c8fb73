#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the shim's exported symbols from the driver symbol list of the toolkit's stub library.

  gen_hooks.py --stub libcuda.so --hooks interpose/cuda_hooks.def --out DIR [--arch x86_64] [--also DRIVER]...

--also: an installed driver that may be newer than the toolkit; what it exports beyond the stub is forwarded.

Output: forwarders.S (a jump to gacer_hook_NAME for hooked symbols, a counted lazy forwarder for all others,
the dlopen entry), forward_names.inc (names of the forwarders, by index), exports.map (version script).
A file is rewritten only when its text changes.
"""
import argparse
import pathlib
import re
import subprocess
import sys

from hook_assembly import ARCHITECTURES

EXTRA_EXPORTS = ["dlopen", "gacer_shim_symbol_of", "gacer_shim_version", "gacer_memory_view"]

HEADER = "/* Written by scripts/gen_hooks.py from the driver's symbol list; not for editing. */\n"


def driver_symbols(stub):
    listing = subprocess.run(["nm", "-D", "--defined-only", stub], check=True, capture_output=True, text=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return sorted({row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] in "TWi" and row[2].startswith("cu")})


def nvml_symbols(hooks):
    rows = (hooks.parent / "nvml" / "nvml_hooks.def").read_text()
    return re.findall(r"^GACER_NVML_HOOK\((\w+)\)", rows, re.MULTILINE)


def hooked_symbols(hooks):
    rows = "".join(part.read_text() for part in sorted((hooks.parent / "hooks").glob("*.def")))
    return re.findall(r"^GACER_HOOK\((\w+),", rows, re.MULTILINE)


def assembly(templates, symbols, hooked):
    forwarded = [name for name in symbols if name not in hooked]
    parts = [HEADER, "    .text\n"]
    parts += [templates["hooked"].format(name=name) for name in symbols if name in hooked]
    parts += [templates["forwarder"].format(name=name, offset=8 * i, index=i) for i, name in enumerate(forwarded)]
    parts += [templates["first_call"], templates["dlopen"]]
    parts.append(tables(len(forwarded)))
    return "".join(parts), forwarded


def tables(count):
    """Where each forwarder jumps to; how often it was called; where it is (offsets: nothing to relocate)."""
    parts = ['\n    .section .data.rel.local, "aw"\n    .p2align 3\n']
    parts.append("    .globl gacer_forward_table\n    .hidden gacer_forward_table\ngacer_forward_table:\n")
    parts += [f"    .quad .Lresolve_{i}\n" for i in range(count)]
    parts.append("\n    .bss\n    .p2align 3\n    .globl gacer_forward_counts\n    .hidden gacer_forward_counts\n")
    parts.append(f"gacer_forward_counts:\n    .zero {8 * max(count, 1)}\n")
    parts.append("\n    .section .rodata\n    .p2align 2\n    .globl gacer_forward_offsets\n")
    parts.append("    .hidden gacer_forward_offsets\ngacer_forward_offsets:\n.Loffsets:\n")
    parts += [f"    .long .Lforward_{i} - .Loffsets\n" for i in range(count)]
    parts.append('\n    .section .note.GNU-stack, "", %progbits\n')
    return "".join(parts)


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stub", required=True)
    parser.add_argument("--hooks", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--arch", default="x86_64")
    parser.add_argument("--also", action="append", default=[])
    args = parser.parse_args()
    if args.arch not in ARCHITECTURES:
        sys.exit(f"gen_hooks.py: no forwarders written for {args.arch}, only for {', '.join(ARCHITECTURES)}")
    symbols = driver_symbols(args.stub)
    hooked = set(hooked_symbols(args.hooks)) & set(symbols)
    if len(symbols) < 300 or not hooked:
        sys.exit(f"gen_hooks.py: {args.stub} exports {len(symbols)} driver symbols: not a CUDA driver stub")
    symbols = sorted(set(symbols).union(*map(driver_symbols, args.also)))
    text, forwarded = assembly(ARCHITECTURES[args.arch], symbols, hooked)
    args.out.mkdir(parents=True, exist_ok=True)
    write_if_changed(args.out / "forwarders.S", text)
    write_if_changed(args.out / "forward_names.inc", HEADER + "".join(f'"{name}",\n' for name in forwarded))
    exports = "".join(f"    {name};\n" for name in symbols + nvml_symbols(args.hooks) + EXTRA_EXPORTS)
    write_if_changed(args.out / "exports.map", HEADER + "{\n  global:\n" + exports + "  local:\n    *;\n};\n")


if __name__ == "__main__":
    main()
