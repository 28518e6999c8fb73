#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""validate.py --build DIR [--json FILE] [--data DIR] [--only GROUP]: the simulated device against published figures.

Published figures are read from the data folder at each run (default: shared/data beside the checkout); none is in the
model, nor here. Without the folder nothing is compared. A row: group, name, published, simulated, error (simulated /
published - 1; for orders 0 or 1). Explanations of the misses: runtime/simdevice/MODEL.md.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "validate"))
import groups  # noqa: E402


def summary(rows):
    lines = []
    for group in dict.fromkeys(row["group"] for row in rows):
        errors = [abs(row["error"]) for row in rows if row["group"] == group]
        within = sum(error <= 0.05 for error in errors)
        lines.append(f"{group:>14} {len(errors):5} {within:10} {statistics.median(errors):9.1%} {max(errors):9.1%}")
    return "\n".join([f"{'group':>14} {'rows':>5} {'within 5%':>10} {'median':>9} {'worst':>9}", *lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--data", type=pathlib.Path, default=root.parent / "shared" / "data")
    parser.add_argument("--only", action="append", choices=groups.NAMES)
    args = parser.parse_args()
    if not (args.data / "README.md").exists():
        print(f"validate: skipped, no published figures in {args.data}")
        if args.json:
            args.json.write_text(json.dumps({"bench": "validate", "rows": []}) + "\n")
        return
    rows = []
    for name in args.only or groups.NAMES:
        try:
            new = groups.rows_of(name, args.data, args.build / "bench")
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"validate: {name}: {error.stderr.strip()}")
        for row in new:
            print(f"{row['group']:>12} {row['published']:12.5g} {row['simulated']:12.5g} {row['error']:+8.1%}  {row['name']}")
        rows += new
    print("\n" + summary(rows))
    if args.json:
        args.json.write_text(json.dumps({"bench": "validate", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
