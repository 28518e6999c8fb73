# SPDX-License-Identifier: Apache-2.0
"""Jobs made of traced kernels, and scenarios for validate_replay.

A trace tells how long a kernel took and what it was launched with, not what it was bound by. The roofline class of the
profiles (compute, memory; "at least 60 % of the peak") becomes 0.8 of that resource and 0.3 of the other; unknown, or
small kernels, 0.4 of both. For traces with names only, products of matrices and convolutions count as compute-bound,
all else as memory-bound.
"""
import csv
import dataclasses
import gzip
import re
import subprocess

COMPUTE, MEMORY, UNKNOWN = (0.3, 0.8), (0.8, 0.3), (0.4, 0.4)  # share of DRAM, of issue slots
COMPUTE_NAMES = re.compile(r"gemm|conv|cudnn|cutlass|winograd|wgrad|dgrad|fprop|flash|fmha|implicit|xmma", re.IGNORECASE)


@dataclasses.dataclass
class Job:
    kernels: list  # lines of validate_replay
    mode: str = "mps"
    sm_cap: int = 0
    priority: int = 0
    wanted: int = 0
    gap_ms: float = 0.0

    def lines(self):
        yield f"client {self.mode} {self.sm_cap} {self.priority}"
        yield from self.kernels
        yield f"paced {self.gap_ms} {self.wanted}" if self.gap_ms else f"closed {self.wanted}"


@dataclasses.dataclass
class Scenario:
    device: str
    name: str
    jobs: list
    until_ms: float = 600_000
    sms: int = 0
    dram: float = 1.0
    l2: float = 1.0

    def lines(self):
        yield f"device {self.device} {self.sms} {self.dram} {self.l2}"
        for job in self.jobs:
            yield from job.lines()
        yield f"run {self.name} {self.until_ms}"


@dataclasses.dataclass
class Outcome:
    iterations: float
    seconds: float
    mean_ms: float
    p99_ms: float

    @property
    def rate(self):
        return self.iterations / self.seconds if self.seconds else 0.0


def replay(programs, scenarios):
    """{scenario: [an Outcome for each job]}"""
    text = "\n".join(line for scenario in scenarios for line in scenario.lines()) + "\n"
    done = subprocess.run([str(programs / "validate_replay")], input=text, text=True, capture_output=True, check=True)
    outcomes = {}
    for line in done.stdout.splitlines():
        name, _, *numbers = line.split("\t")
        outcomes.setdefault(name, []).append(Outcome(*map(float, numbers)))
    return outcomes


def scaled(durations, scale_to_ms):
    factor = scale_to_ms * 1000 / sum(durations) if scale_to_ms else 1.0
    return [duration * factor for duration in durations]


def orion_job(data, profile, scale_to_ms=None, **how):
    with open(data / "orion" / f"{profile}.csv", newline="") as file:
        rows = [r for r in csv.DictReader(file) if float(r["duration_ns"]) > 0]
    shares = {"1": COMPUTE, "0": MEMORY}
    durations = scaled([float(r["duration_ns"]) / 1000 for r in rows], scale_to_ms)
    lines = [f"sms {us:.3f} {max(1, int(float(r['sm_needed'])))} {dram} {issue}"
             for us, r in zip(durations, rows) for dram, issue in (shares.get(r["profile"], UNKNOWN),)]
    return Job(lines, **how)


def trace_job(data, trace, device, scale_to_ms=None, **how):
    """One middle iteration of a trace; communication kernels, which wait for peers, are left out."""
    with gzip.open(data / f"{trace}.csv.gz", "rt", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["kind"] == "kernel" and r["step"] and "nccl" not in r["name"].lower()
                and float(r["dur_us"]) > 0]
    steps = sorted({r["step"] for r in rows}, key=float)
    rows = [r for r in rows if r["step"] == steps[len(steps) // 2]]
    durations = scaled([float(r["dur_us"]) for r in rows], scale_to_ms)
    lines = []
    for us, r in zip(durations, rows):
        blocks = int(r["gx"]) * int(r["gy"]) * int(r["gz"])
        threads = int(r["bx"]) * int(r["by"]) * int(r["bz"])
        dram, issue = COMPUTE if COMPUTE_NAMES.search(r["name"]) else MEMORY
        lines.append(f"kernel {us:.3f} {blocks} {threads} {r['regs'] or 32} {r['smem_b'] or 0} {dram} {issue}")
    return Job(lines, **how)
