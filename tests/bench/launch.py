#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""launch.py --build DIR [--json FILE] [--quick]: ns per intercepted launch on the null driver.

  direct       the null driver called straight
  passthrough  a preload that only jumps on
  limit        that, after one relaxed increment and one acquire load in shared memory: the practical limit
  gacer_lone   the shim, attached, nothing asked of it
  gacer_open   the shim, attached, a window with room, records and completion marks on, drained by a daemon

Each row is the median over repetitions of CPU ns per launch of the launching threads; added_ns is against the direct
calls of the same processes.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

APIS = ["cuLaunchKernel", "cuLaunchKernelEx"]
OPEN_WORDS = ["--mode", "window", "--window", "1000000000000", "--record", "--mark", "16"]
# threads, tenants of each case; the other tenants are attached and idle
SHAPES = {"passthrough": [(1, 1), (2, 1)], "limit": [(1, 1), (2, 1)],
          "gacer_lone": [(1, 1), (2, 1), (1, 8)], "gacer_open": [(1, 1), (2, 1), (1, 8)]}


class Daemon:
    """The stand-in daemon, and the idle tenants beside the measured one."""

    def __init__(self, build, folder, words):
        self.socket = str(folder / "bench.sock")
        self.process = subprocess.Popen([build / "tests/gacer_standin", "--socket", self.socket, *words],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("bench launch: the stand-in daemon did not start")

    def stop(self):
        out, _ = self.process.communicate()
        return json.loads(out)


def environment(build, case, socket, threads):
    env = dict(os.environ, LD_LIBRARY_PATH=str(build / "nulldriver"), LAUNCH_BENCH_THREADS=str(threads),
               GACER_REAL_LIBCUDA=str(build / "nulldriver/libcuda.so.1"), GACER_TENANT="bench")
    if case in ("passthrough", "limit"):
        env["LD_PRELOAD"] = str(build / f"bench/lib{case}.so")
    else:
        env["LD_PRELOAD"] = str(build / "lib/libgacer.so")
        env["GACER_SOCKET"] = socket
    return env


def measure(build, env, seconds, repetitions):
    out = subprocess.run([build / "bench/launch_bench", f"--benchmark_min_time={seconds}",
                          f"--benchmark_repetitions={repetitions}", "--benchmark_enable_random_interleaving=true",
                          "--benchmark_format=json"], env=env, check=True, capture_output=True, text=True)
    if "gacer:" in out.stderr:
        sys.exit("bench launch: " + out.stderr)
    times = {}
    for run in json.loads(out.stdout)["benchmarks"]:
        if run["run_type"] == "iteration":
            which, api = run["name"].split("/")[:2]
            # CPU time of the launching threads: what else runs on the machine does not count.
            times.setdefault((which, api), []).append(run["cpu_time"])
    return times


def start_idle_tenants(build, env, count):
    command = ["python3", "-c", "import ctypes,sys\nc=ctypes.CDLL('libcuda.so.1')\nc.cuInit(0)\ns=ctypes.c_void_p()\n"
               "c.cuStreamCreate(ctypes.byref(s),0)\nprint('up',flush=True)\nsys.stdin.read()"]
    tenants = [subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for _ in range(count)]
    for tenant in tenants:
        tenant.stdout.readline()
    return tenants


def run_case(build, case, threads, tenants, args):
    with tempfile.TemporaryDirectory(prefix="gacer-bench-") as folder:
        daemon = None
        idle = []
        if case.startswith("gacer"):
            daemon = Daemon(build, pathlib.Path(folder), OPEN_WORDS if case == "gacer_open" else [])
        env = environment(build, case, daemon.socket if daemon else "", threads)
        idle = start_idle_tenants(build, env, tenants - 1)
        times = measure(build, env, args.seconds, args.repetitions)
        for tenant in idle:
            tenant.communicate()
        if daemon:
            check_regulated(case, daemon.stop(), tenants)
    return times


def check_regulated(case, seen, tenants):
    """A shim that was not attached, or that recorded nothing, would look fast."""
    busiest = max(seen["clients"], key=lambda client: client["launches"], default=None)
    if busiest is None or seen["welcomed"] != tenants:
        sys.exit(f"bench launch: {case}: {seen['welcomed']} of {tenants} tenants attached")
    covered = busiest["records"] + busiest["dropped"]
    if case == "gacer_open" and covered < busiest["launches"] * 0.99:
        sys.exit(f"bench launch: {case}: {covered} records of {busiest['launches']} launches")


def rows_of(case, threads, tenants, times):
    rows = []
    for api in APIS:
        direct = statistics.median(times["direct", api])
        hooked = statistics.median(times["hooked", api])
        rows.append({"case": case, "api": api, "threads": threads, "tenants": tenants,
                     "ns_per_launch": round(hooked, 2), "added_ns": round(hooked - direct, 2), "direct_ns": direct})
    return rows


def direct_rows(rows):
    result = []
    for api in APIS:
        for threads in sorted({row["threads"] for row in rows}):
            all_direct = [row["direct_ns"] for row in rows if row["api"] == api and row["threads"] == threads]
            result.append({"case": "direct", "api": api, "threads": threads, "tenants": 1,
                           "ns_per_launch": round(statistics.median(all_direct), 2), "added_ns": 0.0})
    return result


def print_table(rows):
    print(f"{'case':<12} {'api':<17} {'threads':>7} {'tenants':>7} {'ns/launch':>10} {'added ns':>9}")
    for row in rows:
        print(f"{row['case']:<12} {row['api']:<17} {row['threads']:>7} {row['tenants']:>7} "
              f"{row['ns_per_launch']:>10.2f} {row['added_ns']:>9.2f}")


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0.15, help="per repetition")
    parser.add_argument("--repetitions", type=int, default=7)
    args = parser.parse_args()
    build = args.build.resolve()
    rows = []
    for case, shapes in SHAPES.items():
        for threads, tenants in shapes:
            print(f"bench launch: {case}, {threads} thread(s), {tenants} tenant(s)", file=sys.stderr)
            rows += rows_of(case, threads, tenants, run_case(build, case, threads, tenants, args))
    rows = direct_rows(rows) + [{k: v for k, v in row.items() if k != "direct_ns"} for row in rows]
    print_table(rows)
    if args.json:
        args.json.write_text(json.dumps({"bench": "launch", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
