#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""start.py --build DIR [--json FILE] [--runs N]: what a program without CUDA pays for the preload.

Median over N starts of wall and CPU time (user and system) and page faults, without a preload, with an empty library in
its place, with libgacer.so; alternating, so that the machine's moods hit all alike.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

COMMANDS = {"true": ["/bin/true"], "bash": ["/bin/bash", "-c", "true"]}


def empty_library(folder):
    path = pathlib.Path(folder) / "empty.so"
    subprocess.run(["cc", "-shared", "-o", path, "-xc", "-"], input="", text=True, check=True)
    return path


def start(command, preload):
    """(wall ms, CPU ms, page faults) of one start."""
    environment = {"PATH": os.environ.get("PATH", "/bin"), **({"LD_PRELOAD": str(preload)} if preload else {})}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    pid = os.posix_spawn(command[0], command, environment)
    _, status = os.waitpid(pid, 0)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        raise SystemExit(f"bench start: {command} ended with status {status}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, cpu * 1000, after.ru_minflt - before.ru_minflt


def measure(command, preloads, runs):
    starts = {name: [] for name in preloads}
    for _ in range(runs):
        for name, preload in preloads.items():
            starts[name].append(start(command, preload))
    return {name: [statistics.median(column) for column in zip(*values)] for name, values in starts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=300)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        preloads = {"none": None, "empty": empty_library(folder), "gacer": args.build.resolve() / "lib" / "libgacer.so"}
        for name, command in COMMANDS.items():
            medians = measure(command, preloads, args.runs)
            for preload, (wall, cpu, faults) in medians.items():
                rows.append({"program": name, "preload": preload, "wall_ms": wall, "cpu_ms": cpu, "page_faults": faults,
                             "added_wall_ms": wall - medians["none"][0], "added_cpu_ms": cpu - medians["none"][1]})
    print(f"{'program':>8} {'preload':>8} {'wall ms':>8} {'added':>8} {'CPU ms':>8} {'added':>8} {'faults':>7}")
    for row in rows:
        print(f"{row['program']:>8} {row['preload']:>8} {row['wall_ms']:8.3f} {row['added_wall_ms']:8.3f} "
              f"{row['cpu_ms']:8.3f} {row['added_cpu_ms']:8.3f} {row['page_faults']:7.0f}")
    if args.json:
        args.json.write_text(json.dumps({"bench": "start", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
