#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_typedef_rows.py cudaTypedefs.h libcuda.so OUTPUT.inc: one row a function pointer type of the toolkit,

  TYPEDEF(symbol, base, version, stream, type)    type: PFN_<base>_v<version>[_ptsz|_ptds]; stream: any, legacy, ptsz, ptds

with the exported symbol it belongs to: the n-th version of a base is the n-th ABI suffix of its exports.
"""
import re
import subprocess
import sys


def exported(stub):
    listing = subprocess.run(["nm", "-D", "--defined-only", stub], check=True, capture_output=True, text=True)
    names = (line.split()[-1].split("@")[0] for line in listing.stdout.splitlines())
    return sorted(name for name in names if name.startswith("cu"))


def split(symbol):
    base, abi, stream = re.fullmatch(r"(\w+?)(?:_v(\d+))?(?:_(ptsz|ptds))?", symbol).groups()
    return base, stream or "", int(abi or 1)


def grouped(rows):
    groups = {}
    for base, stream, number, value in rows:
        groups.setdefault((base, stream), []).append((number, value))
    return {key: sorted(values) for key, values in groups.items()}


def main():
    header, stub, output = sys.argv[1:]
    with open(header, encoding="utf-8") as file:
        types = re.findall(r"\*(PFN_(cu\w+?)_v(\d+)(?:_(ptsz|ptds))?)\)", file.read())
    versions = grouped((base, stream, int(version), name) for name, base, version, stream in types)
    symbols = grouped((*split(symbol), symbol) for symbol in exported(stub))
    per_thread = {base for base, stream in versions if stream}
    lines = []
    for (base, stream), known in sorted(versions.items()):
        names = symbols.get((base, stream), [])
        if len(names) != len(known):
            sys.exit(f"{base} {stream}: {len(known)} types, {len(names)} exports")
        kind = stream or ("legacy" if base in per_thread else "any")
        lines += [f"TYPEDEF({symbol}, {base}, {version}, {kind}, {name})\n"
                  for (version, name), (_, symbol) in zip(known, names)]
    with open(output, "w", encoding="ascii") as file:
        file.writelines(lines)


if __name__ == "__main__":
    main()
