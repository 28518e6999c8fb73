#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""launch.py --build DIR [--json FILE] [--quick]: what an intercepted launch costs, on the null driver.

  direct       the null driver called straight
  passthrough  a preload that only jumps on
  limit        that, after one relaxed increment and one acquire load in shared memory: the practical limit
  gacer_lone   the shim, attached, nothing asked of it
  gacer_open   the shim, attached, a window with room, records and completion marks on, drained by a daemon

README.md beside this file says what the rows mean.
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
          "gacer_lone": [(1, 1), (2, 1), (1, 8), (1, 64)], "gacer_open": [(1, 1), (2, 1), (1, 8), (1, 64)]}
QUICK_SHAPES = {"passthrough": [(1, 1)], "limit": [(1, 1)], "gacer_lone": [(1, 1), (1, 8)],
                "gacer_open": [(1, 1), (2, 1)]}


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


def environment(build, case, socket, threads=1):
    env = dict(os.environ, LD_LIBRARY_PATH=str(build / "nulldriver"), LAUNCH_BENCH_THREADS=str(threads),
               GACER_REAL_LIBCUDA=str(build / "nulldriver/libcuda.so.1"), GACER_TENANT="bench")
    if case in ("passthrough", "limit"):
        env["LD_PRELOAD"] = str(build / f"bench/lib{case}.so")
    else:
        env["LD_PRELOAD"] = str(build / "lib/libgacer.so")
        env["GACER_SOCKET"] = socket
    return env


def run(command, env, what):
    out = subprocess.run(command, env=env, capture_output=True, text=True)
    if out.returncode != 0 or "gacer:" in out.stderr:
        sys.exit(f"bench launch: {what}: {out.stderr}")
    return out.stdout


class Stage:
    """One case with its daemon and idle tenants, for as long as it takes."""

    def __init__(self, build, case, threads=1, tenants=1):
        self.build, self.case, self.tenants = build, case, tenants
        self.folder = tempfile.TemporaryDirectory(prefix="gacer-bench-")
        self.daemon = None
        if case.startswith("gacer"):
            self.daemon = Daemon(build, pathlib.Path(self.folder.name), OPEN_WORDS if case == "gacer_open" else [])
        self.env = environment(build, case, self.daemon.socket if self.daemon else "", threads)

    def __enter__(self):
        command = [self.build / "bench/launch_probe", "idle"]
        self.idle = [subprocess.Popen(command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                     for _ in range(self.tenants - 1)]
        for tenant in self.idle:
            tenant.stdout.readline()
        return self

    def __exit__(self, kind, *_):
        for tenant in self.idle:
            tenant.communicate()
        seen = self.daemon.stop() if self.daemon else None
        if seen and kind is None:
            self.check_regulated(seen)
        self.folder.cleanup()

    def check_regulated(self, seen):
        """A shim that was not attached, or that recorded nothing, would look fast."""
        busiest = max(seen["clients"], key=lambda client: client["launches"], default=None)
        if busiest is None or seen["welcomed"] != self.tenants:
            sys.exit(f"bench launch: {self.case}: {seen['welcomed']} of {self.tenants} tenants attached")
        covered = busiest["records"] + busiest["dropped"]
        if self.case == "gacer_open" and covered < busiest["launches"] * 0.99:
            sys.exit(f"bench launch: {self.case}: {covered} records of {busiest['launches']} launches")


def time_launches(stage, args):
    out = run([args.build / "bench/launch_bench", f"--benchmark_min_time={args.seconds}",
               f"--benchmark_repetitions={args.repetitions}", "--benchmark_enable_random_interleaving=true",
               "--benchmark_format=json"], stage.env, stage.case)
    times = {}
    for row in json.loads(out)["benchmarks"]:
        if row["run_type"] == "iteration":
            which, api = row["name"].split("/")[:2]
            # CPU time of the launching threads: what else runs on the machine does not count.
            times.setdefault((which, api), []).append(row["cpu_time"])
    return times


def measure_throughput(args):
    """All cases in turn, several rounds: a busier minute of the machine meets all of them."""
    samples = {}
    for turn in range(args.rounds):
        for case, shapes in args.shapes.items():
            for threads, tenants in shapes:
                print(f"bench launch: round {turn + 1}/{args.rounds}, {case}, {threads} thread(s), {tenants} tenant(s)",
                      file=sys.stderr)
                with Stage(args.build, case, threads, tenants) as stage:
                    for key, values in time_launches(stage, args).items():
                        samples.setdefault((case, threads, tenants, *key), []).extend(values)
    return samples


def throughput_rows(args, samples):
    rows = []
    for api in APIS:
        for threads in (1, 2):
            direct = [v for (_, t, _, which, a), values in samples.items() if (t, which, a) == (threads, "direct", api)
                      for v in values]
            rows.append({"case": "direct", "api": api, "threads": threads, "tenants": 1,
                         "ns_per_launch": round(statistics.median(direct), 2), "added_ns": 0.0})
    for case, shapes in args.shapes.items():
        for threads, tenants in shapes:
            for api in APIS:
                here = {which: statistics.median(samples[case, threads, tenants, which, api])
                        for which in ("direct", "hooked")}
                rows.append({"case": case, "api": api, "threads": threads, "tenants": tenants,
                             "ns_per_launch": round(here["hooked"], 2),
                             "added_ns": round(here["hooked"] - here["direct"], 2)})
    limits = {row["api"]: row["added_ns"] for row in rows if row["case"] == "limit" and row["threads"] == 1}
    for row in rows:
        row["times_limit"] = round(row["added_ns"] / limits[row["api"]], 2)
    return rows


def single_rows(args):
    rows = []
    for case in args.shapes:
        with Stage(args.build, case) as stage:
            seen = json.loads(run([args.build / "bench/launch_probe", "single", str(args.singles)], stage.env, case))
        if not rows:
            rows += [{"case": name, "api": "cuLaunchKernel", **seen[name]} for name in ("empty", "direct")]
        rows += [{"case": case, "api": api, **seen[api]} for api in APIS]
    return rows


def call_rows(args):
    rows = []
    for case in ("gacer_lone", "gacer_open"):
        with Stage(args.build, case) as stage:
            seen = json.loads(run([args.build / "bench/launch_probe", "calls", str(args.counted)], stage.env, case))
        rows.append({"case": case, **seen})
    return rows


def handoff_rows(args):
    with tempfile.TemporaryDirectory(prefix="gacer-bench-") as folder:
        socket = folder + "/handoff.sock"
        env = environment(args.build, "gacer_lone", socket)
        env["HANDOFF_PRELOAD"] = env.pop("LD_PRELOAD")
        seen = json.loads(run([args.build / "bench/handoff_bench", socket, str(args.handoffs),
                               args.build / "bench/launch_probe"], env, "hand-off"))
    return [{"case": "handoff_" + way, **row} for way, row in seen.items()]


def print_table(title, rows):
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns] + [[str(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    print(f"\n{title}")
    for line in lines:
        print("  ".join(text.ljust(width) if i < 2 else text.rjust(width)
                        for i, (text, width) in enumerate(zip(line, widths))).rstrip())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="some seconds, fewer cases, rough numbers")
    parser.add_argument("--seconds", type=float, help="per repetition")
    parser.add_argument("--rounds", type=int)
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.shapes = QUICK_SHAPES if args.quick else SHAPES
    args.repetitions = 3
    args.seconds = args.seconds or (0.02 if args.quick else 0.1)
    args.rounds = args.rounds or (1 if args.quick else 3)
    args.singles, args.counted, args.handoffs = (20000, 20000, 200) if args.quick else (200000, 100000, 3000)
    return args


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    args = arguments()
    samples = measure_throughput(args)
    tables = {"ns per launch, CPU time of the launching threads": throughput_rows(args, samples),
              "single launches": single_rows(args), "system calls": call_rows(args),
              "closed gate opens: until the waiting launch has returned": handoff_rows(args)}
    for title, rows in tables.items():
        print_table(title, rows)
    if args.json:
        rows = [row for table in tables.values() for row in table]
        args.json.write_text(json.dumps({"bench": "launch", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
