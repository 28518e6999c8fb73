#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ResNet-18 and a transformer with tinygrad on its CUDA and on its CPU backend and compares the numbers.

Each model runs eagerly, then jitted: from the third call on, tinygrad replays the kernels as a CUDA graph, which is
counted. One line a model; exit code 1 when a number is off or no graph was launched.
"""
import argparse
import contextlib
import json
import sys
import time

import numpy as np

from models import ResNet18, Transformer, seed_weights
from tinygrad import Device, Tensor, TinyJit
from tinygrad.runtime.autogen import cuda

TOLERANCE = 2e-4  # relative to the largest output: the backends sum in different orders
MODELS = {
    "resnet18": (ResNet18, lambda rng: ResNet18.example(rng, 1, 64)),
    "transformer": (Transformer, lambda rng: Transformer.example(rng, 1, 16)),
}


class GraphCounter:
    """Counts cuGraphLaunch calls of tinygrad's CUDA graph runner."""

    def __init__(self):
        self.launches = 0
        self.real = cuda.cuGraphLaunch
        cuda.cuGraphLaunch = self

    def __call__(self, *args):
        self.launches += 1
        return self.real(*args)


@contextlib.contextmanager
def default_device(device):
    previous, Device.DEFAULT = Device.DEFAULT, device
    try:
        yield
    finally:
        Device.DEFAULT = previous


def build(model_class, device):
    with default_device(device):
        model = model_class()
        seed_weights(model, seed=7)
    return model


def forward(model, values, device):
    with default_device(device):
        return model(Tensor(values, device=device)).numpy()


def forward_jitted(model, values, device, calls):
    step = TinyJit(lambda x: model(x).realize())
    with default_device(device):
        return [step(Tensor(values, device=device).realize()).numpy() for _ in range(calls)]


def difference(got, wanted):
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def check(name, counter, calls):
    model_class, example = MODELS[name]
    values = example(np.random.default_rng(3))
    started = time.monotonic()
    wanted = forward(build(model_class, "CPU"), values, "CPU")
    model = build(model_class, "CUDA")
    results = {"eager": difference(forward(model, values, "CUDA"), wanted)}
    before = counter.launches
    results["jit"] = max(difference(got, wanted) for got in forward_jitted(model, values, "CUDA", calls))
    return {"model": name, **results, "graph_launches": counter.launches - before, "largest": float(np.abs(wanted).max()),
            "seconds": round(time.monotonic() - started, 2)}


def passed(row):
    return row["graph_launches"] > 0 and np.isfinite(row["largest"]) and max(row["eager"], row["jit"]) < TOLERANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; all by default")
    parser.add_argument("--calls", type=int, default=4, help="calls of the jitted model")
    parser.add_argument("--json", help="write the rows to this file")
    args = parser.parse_args()
    if unknown := set(args.models) - set(MODELS):
        parser.error(f"unknown model {', '.join(sorted(unknown))}")
    counter = GraphCounter()
    rows = [check(name, counter, args.calls) for name in args.models or MODELS]
    for row in rows:
        print(f"{'ok' if passed(row) else 'FAILED'} {json.dumps(row)}", flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(rows, out)
    return 0 if all(passed(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
