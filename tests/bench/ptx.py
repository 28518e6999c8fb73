#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptx.py --build DIR [--json FILE] [--quick]: speed of the simulated device's PTX executor.

Million thread instructions per second of CPU time and core for kinds of code (tests/bench/ptx_kernels.cu), and the time
of a ResNet-18 forward pass (224 x 224, batch 1) in full execution on two threads. Rows: name, value, unit, aim.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

AIMS = {"fma_loop": 400, "copy_stream": 100, "copy_vector": 100, "gather": 100}
RESNET_AIM_S = 30


def loops(build, seconds):
    command = [build / "bench" / "ptx_bench", "--benchmark_format=json", f"--benchmark_min_time={seconds}"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    for row in report["benchmarks"]:
        yield {"name": row["name"], "value": row["thread_instructions"] / 1e6, "unit": "M/s/core",
               "aim": AIMS.get(row["name"])}


def resnet(build):
    model = build / "bin" / "gacer-model"
    if not model.exists() or not (build / "sim" / "simgpu-server").exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "sim"), "SIMGPU_DIR": folder, "SIMGPU_EXEC": "full",
                       "SIMGPU_SERVER": str(build / "sim" / "simgpu-server"), "SIMGPU_THREADS": "2", "SIMGPU_LINGER_S": "1"}
        begin = time.perf_counter()
        subprocess.run([model, "resnet18", "--image", "224", "--batch", "1", "--requests", "1", "--warmup", "1"],
                       check=True, env=environment, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - begin
    # One pass to warm up, one that is measured; making the weights counts too.
    yield {"name": "resnet18_forward", "value": wall / 2, "unit": "s", "aim": RESNET_AIM_S}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="rough numbers, no ResNet-18")
    args = parser.parse_args()
    build = args.build.resolve()
    rows = list(loops(build, 0.1 if args.quick else 0.5)) + ([] if args.quick else list(resnet(build)))
    print(f"{'name':>24} {'value':>10} {'unit':>9} {'aim':>6}")
    for row in rows:
        print(f"{row['name']:>24} {row['value']:10.1f} {row['unit']:>9} {row['aim'] or '':>6}")
    if args.json:
        args.json.write_text(json.dumps({"bench": "ptx", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
