# SPDX-License-Identifier: Apache-2.0
"""The groups of scripts/bench.sh validate: published rows, and the runs of the simulated device that answer them."""
import csv
import gzip
import itertools
import re
import statistics
import subprocess

from jobs import Job, Scenario, orion_job, replay, trace_job

NAMES = ["v100", "titanv", "mps_share", "mig", "kernels", "gavel", "tally"]


def read(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def row(group, name, published, simulated):
    error = simulated / published - 1 if published else simulated
    return {"group": group, "name": name, "published": published, "simulated": simulated, "error": error}


def order_row(group, name, published, simulated):
    """1 stands for the published order; simulated 1: the same."""
    return {"group": group, "name": f"{name}: published {published}, simulated {simulated}", "published": 1,
            "simulated": int(published == simulated), "error": float(published != simulated)}


def figures(program, *arguments, text=""):
    """What a program of this folder prints, by name."""
    done = subprocess.run([str(a) for a in (program, *arguments)], input=text, text=True, capture_output=True, check=True)
    return {name: float(value) for name, value in (line.split("\t") for line in done.stdout.splitlines())}


# ---- micro-benchmarks

# The V100's clock is not published with the figures. Eight clocks for each dependent fp64 product, 20 million of them in
# 119 ms, fit the 1380 MHz of the PCIe board and not the 1530 MHz of the SXM2 one.
V100_PCIE_MHZ = 1380

V100_NAMES = [
    (r"sleep kernel.*\((\d+), 1024\)", "{0} {mode}"),
    (r"copy kernel alone - Launch Config Copy.*", "copy {mode}"),
    (r"compute kernel with ILP 4 alone.*", "compute {mode}"),
    (r"copy and compute with ILP 4 .*", "{mode}"),
    (r"two compute kernel with ILP (\d).*", "{0} {mode}"),
    (r"copy kernel .*copying (\d)\.000000 MB", "{0} {mode}"),
    (r"two copy kernels .*copying (\d+) KB per thread block", "{0} {mode}"),
    (r".*Launch Config: \((\d+), 1024\).*(?:40 of 80 SMs|process \d)", "{0} {mode}"),
]


def v100_name(published):
    for pattern, name in V100_NAMES:
        if found := re.search(pattern, published["what"]):
            return f"{published['experiment']} " + name.format(*found.groups(), mode=published["mode"])
    raise ValueError(f"unknown micro-benchmark: {published['what']}")


def ratio_rows(published, simulated):
    """What sharing does: together against one after the other, or against alone."""
    for name in dict.fromkeys(name for name, _ in published if name.endswith("colocated")):
        told = dict(reversed(published))  # the first of several runs
        for base in ("sequential", "alone"):
            other = name.replace("colocated", base)
            if other in told:
                yield row("v100_ratio", f"{name} / {base}", told[name] / told[other], simulated[name] / simulated[other])
                break


def v100(data, programs):
    simulated = figures(programs / "validate_micro", programs / "validate_kernels.ptx", "V100", V100_PCIE_MHZ)
    published = [(v100_name(entry), float(entry["avg_ms"])) for entry in
                 read(data / "gpu-util-interference/v100_microbench.csv")]
    return [row("v100", name, value, simulated[name]) for name, value in published] + [*ratio_rows(published, simulated)]


def titanv(data, programs):
    published = read(data / "accel-sim/titanv_microbench.csv")
    board = next(entry["value"] for entry in published if entry["metric"] == "gpu")
    mhz = re.search(r"(\d+) MHz base", board).group(1)
    simulated = figures(programs / "validate_micro", programs / "validate_kernels.ptx", "TITANV", mhz)
    rows = []
    for entry in published:
        name = entry["metric"]
        if name == "dram_bandwidth":
            name += " " + entry["unit"]
        if name in simulated:
            rows.append(row("titanv", name, float(entry["value"]), simulated[name]))
    return rows


# ---- single kernels

OPERATOR_GPUS = [  # board of the figures, device, its boost clock (datasheet)
    ("Tesla V100-PCIE-32GB", "V100", V100_PCIE_MHZ),
    ("NVIDIA A100-PCIE-40GB", "A100", 1410),
    ("NVIDIA H100 80GB HBM3", "H100", 1980),
    ("NVIDIA L4", "L4", 2040),
]
OPERATORS = {"add": "add", "relu": "relu", "softmax": "softmax", "ln": "layer_norm", "linear": "gemm", "bmm": "gemm"}
FLOOR_MS = 0.4  # some times the 25 to 90 us of host time in each figure
PER_OPERATOR = 12


def ceil_div(a, b):
    return -(-a // b)


def gemm_line(number, entry):
    """Launch shape and tile as traced: blocks may split the depth of a tile, or make several tiles."""
    batch, m, n, k = (int(entry[c]) for c in "BMNK")
    blocks = int(entry["gx"]) * int(entry["gy"]) * int(entry["gz"])
    tile = re.search(r"(\d+)x(\d+)", entry["kernel"])
    rows, columns = map(int, tile.groups()) if tile else (128, 128)
    # Libraries see row-major products as transposed ones.
    tiles = min(ceil_div(m, rows) * ceil_div(n, columns), ceil_div(n, rows) * ceil_div(m, columns))
    depth = ceil_div(batch * tiles * k, blocks)
    size = batch * 4 * (m * k + k * n + m * n)
    return f"{number} gemm {blocks} {int(entry['bx']) * int(entry['by'])} {rows} {columns} {depth} {size}"


def operator_line(number, entry):
    op = OPERATORS[entry["op"]]
    return gemm_line(number, entry) if op == "gemm" else f"{number} {op} {entry['B']} {entry['H']}"


def kernels(data, programs):
    published = [entry for entry in read(data / "neusight/op_latency.csv.gz") if float(entry["latency_ms"]) >= FLOOR_MS]
    rows = []
    for board, key, mhz in OPERATOR_GPUS:
        for op in OPERATORS:
            chosen = sorted((e for e in published if e["gpu"] == board and e["op"] == op),
                            key=lambda e: float(e["latency_ms"]))
            chosen = chosen[::max(1, len(chosen) // PER_OPERATOR)][:PER_OPERATOR]
            if not chosen:
                continue
            text = "\n".join(operator_line(i, entry) for i, entry in enumerate(chosen))
            simulated = figures(programs / "validate_operators", programs / "validate_kernels.ptx", key, mhz, text=text)
            for i, entry in enumerate(chosen):
                size = "x".join(entry[c] for c in "BMNKH" if entry[c])
                rows.append(row("kernels", f"{key} {entry['op']} {size} ms", float(entry["latency_ms"]), simulated[str(i)]))
    return rows


# ---- shares of SMs


def mps_share(data, programs):
    published = {(e["model"], e["batch"], e["mps_pct"]): float(e["gpu_latency_ms"])
                 for e in read(data / "figures/igniter_v100_latency_vs_mps.csv")}
    rows = []
    for batch, profile in (("32", "v100_resnet50_32_fwd_hist"),):
        simulated = {}
        for percent in ("10", "50", "100"):
            job = orion_job(data, profile, wanted=4, sm_cap=round(80 * int(percent) / 100))
            simulated[percent] = replay(programs, [Scenario("V100", percent, [job])])[percent][0].mean_ms
        for percent in ("10", "50"):
            ratio = published["resnet50", batch, percent] / published["resnet50", batch, "100"]
            rows.append(row("mps_share", f"ResNet-50 batch {batch}: time at {percent}% of the SMs / at 100%", ratio,
                            simulated[percent] / simulated["100"]))
    return rows


MIG_SLICES = {"2": (28, 2 / 8), "3": (42, 4 / 8), "4": (56, 4 / 8), "7": (98, 1.0)}  # SMs, share of DRAM and L2


def mig(data, programs):
    """Ratios of iteration times on slices; published: medians over the models that keep the GPU busy."""
    published = read(data / "miso/a100_mig_iteration_time.csv")
    busy = {(e["model"], e["batch"]) for e in published if e["model"] in ("bert", "cyclegan")}
    times = {(e["model"], e["batch"], e["mig_compute_slices"]): float(e["p50_s"]) for e in published}
    scenarios = []
    for slices, (sms, share) in MIG_SLICES.items():
        job = trace_job(data, "hta/resnet50_ddp2_train_b32_a100", "A100", wanted=3)
        scenarios.append(Scenario("A100", slices, [job], sms=sms, dram=share, l2=share))
    simulated = {name: jobs[0].mean_ms for name, jobs in replay(programs, scenarios).items()}
    rows = []
    for slices in ("2", "3", "4"):
        ratios = [times[model, batch, slices] / times[model, batch, "7"] for model, batch in busy
                  if (model, batch, slices) in times]
        rows.append(row("mig", f"training on {slices} of 7 slices / on 7", statistics.median(ratios),
                        simulated[slices] / simulated["7"]))
    return rows


# ---- pairs

GAVEL_JOBS = ["v100_resnet50_32_fb1", "v100_resnet101_32_fb1", "v100_bert_8_fb1", "v100_mobilenetv2_32_fb1",
              "v100_mobilenetv2_64_fb1", "v100_mobilenetv2_96_fb1", "v100_transformer_xl_8_fb1"]


def quantile(values, share):
    values = sorted(values)
    return values[round(share * (len(values) - 1))]


def gavel(data, programs):
    published = [float(e["sum_normalised"]) for e in read(data / "gavel/colocated_throughput.csv.gz")
                 if e["gpu"] == "v100" and e["sum_normalised"]]
    scenarios = [Scenario("V100", name, [orion_job(data, name, wanted=3)]) for name in GAVEL_JOBS]
    pairs = list(itertools.combinations_with_replacement(GAVEL_JOBS, 2))
    scenarios += [Scenario("V100", f"{a}+{b}", [orion_job(data, a), orion_job(data, b)], until_ms=500) for a, b in pairs]
    done = replay(programs, scenarios)
    alone = {name: 1000 / done[name][0].mean_ms for name in GAVEL_JOBS}
    sums = []
    for a, b in pairs:
        sums.append(sum(1000 / job.mean_ms / alone[name] for job, name in zip(done[f"{a}+{b}"], (a, b))))
    return [row("gavel", f"sum of normalised throughputs of V100 pairs, {name}", quantile(published, share), quantile(sums, share))
            for name, share in (("p10", 0.1), ("median", 0.5), ("p90", 0.9))]


# Load 0.5 of the published runs: alone, p99 equals the mean, and beside a slow partner fewer requests were made, so
# requests were paced and did not queue.
# The twelve pairs; a public trace of the same network where there is one, else of one that resembles it.
TALLY_LATENCY = {  # job, ms alone, requests
    "bert_load0.5": (lambda data, **how: orion_job(data, "v100_bert_2_fwd", scale_to_ms=4.05, **how), 4.05, 30),
    # Shorter, for time's sake: kernels of the length that a prefill of this kind has on an A100.
    "llama-2-7b_load0.5": (lambda data, **how: trace_job(data, "tracelens/qwen15_0p5b_prefill_b16_s559_h100", "H100",
                                                         scale_to_ms=49.0, **how), 49.0, 5),
}
TALLY_BATCH = {
    "whisper-large-v3_train_16": lambda data, **how: orion_job(data, "v100_bert_2_fwd", **how),
    "resnet50_train_128": lambda data, **how: trace_job(data, "hta/resnet50_ddp2_train_b32_a100", "A100", **how),
    "pointnet_train_128": lambda data, **how: orion_job(data, "v100_mobilenetv2_96_fb1", **how),
    "pegasus-x-base_train_4": lambda data, **how: orion_job(data, "v100_transformer_xl_8_fb1", **how),
    "gpt2-large_train_1": lambda data, **how: orion_job(data, "v100_transformer_xl_8_fb1", **how),
    "bert_train_32": lambda data, **how: orion_job(data, "v100_bert_8_fb1", **how),
}
TALLY_MODES = {"mps": ("mps", 0), "mps_priority": ("mps", 1), "time_slicing": ("sliced", 0)}


def tally_scenarios(data, hp, be):
    latency, alone_ms, requests = TALLY_LATENCY[hp]
    gap = 2 * alone_ms
    yield Scenario("A100", f"{hp}|{be}|alone", [latency(data, wanted=requests, gap_ms=gap)])
    for name, (mode, priority) in TALLY_MODES.items():
        jobs = [latency(data, wanted=requests, gap_ms=gap, mode=mode), TALLY_BATCH[be](data, mode=mode, priority=priority)]
        yield Scenario("A100", f"{hp}|{be}|{name}", jobs, until_ms=60_000)


def order(values):
    return " > ".join(sorted(values, key=values.get, reverse=True))


def tally(data, programs):
    published = {(e["hp"], e["be"], e["variant"]): e for e in read(data / "figures/tally_a100_pairs.csv")}
    pairs = list(itertools.product(TALLY_LATENCY, TALLY_BATCH))
    scenarios = [s for hp, be in pairs for s in tally_scenarios(data, hp, be)]
    scenarios += [Scenario("A100", be, [TALLY_BATCH[be](data, wanted=3)]) for be in TALLY_BATCH]
    done = replay(programs, scenarios)
    rows = []
    for hp, be in pairs:
        alone = done[f"{hp}|{be}|alone"][0].p99_ms
        alone_rate = 1000 / done[be][0].mean_ms
        runs = {mode: done[f"{hp}|{be}|{mode}"] for mode in TALLY_MODES}
        ratios = {mode: run[0].p99_ms / alone for mode, run in runs.items()}
        shares = {mode: run[1].rate / alone_rate for mode, run in runs.items()}
        told = {mode: float(published[hp, be, mode]["p99_ratio"]) for mode in TALLY_MODES}
        told_shares = {mode: float(published[hp, be, mode]["be_norm_throughput"]) for mode in TALLY_MODES}
        name = f"{hp} beside {be}"
        rows.append(order_row("tally", f"{name}, p99", order(told), order(ratios)))
        rows.append(order_row("tally", f"{name}, batch throughput least", min(told_shares, key=told_shares.get),
                              min(shares, key=shares.get)))
        rows += [row("tally_ratio", f"{name}, {mode}: p99 / alone", told[mode], ratios[mode]) for mode in TALLY_MODES]
        rows += [row("tally_ratio", f"{name}, {mode}: batch throughput", told_shares[mode], shares[mode]) for mode in TALLY_MODES]
    return rows


def rows_of(name, data, programs):
    return globals()[name](data, programs)
