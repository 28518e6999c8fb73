#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tinygrad on the simulated device. Exit code 77: skipped, the reason on stdout.

  test_tinygrad.py alone       both models on an otherwise idle device
  test_tinygrad.py colocated   one model in each of two tenants under `gacer run`, at the same time
"""
import os
import pathlib
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))
from stage import BUILD, Stage  # noqa: E402

PYTHON = pathlib.Path(os.environ.get("GACER_CLIENT_VENV", ".venv")) / "bin" / "python"
SKIPPED = 77
LIMIT_S = 800


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def client_environment(folder):
    """The compiler caches of tinygrad stay in the test's folder, so that every run compiles and loads its kernels."""
    libraries = [str(BUILD / "sim"), os.environ.get("CUDA_LIBS", "/usr/local/cuda/lib64")]
    return {"CUDA": "1", "LD_LIBRARY_PATH": ":".join(libraries), "XDG_CACHE_HOME": str(folder), "CACHELEVEL": "0",
            "PYTHONDONTWRITEBYTECODE": "1"}


def run_command(*models):
    return [PYTHON, FOLDER / "run_models.py", "--calls", "3", *models]


def expect_success(process, what):
    code = process.process.wait(LIMIT_S)
    print(process.text(), end="")
    if code != 0:
        raise AssertionError(f"{what} ended with {code}")


def alone(stage):
    process = stage.start(*run_command(), **client_environment(stage.folder))
    expect_success(process, "tinygrad alone")


def colocated(stage):
    if not (BUILD / "bin" / "gacer").exists():
        skip("the gacer command is not built")
    stage.start_daemon()
    environment = client_environment(stage.folder)
    tenants = [("net", "latency", "resnet18"), ("text", "batch", "transformer")]
    processes = [stage.start(*stage.run_command(name, tenant_class), *run_command(model), **environment)
                 for name, tenant_class, model in tenants]
    seen = set()
    while any(process.alive() for process in processes):
        seen |= {name for name, _, _ in tenants if stage.tenant(name)}
        time.sleep(0.5)
    for process, (name, _, _) in zip(processes, tenants):
        expect_success(process, f"tenant {name}")
    if len(seen) != len(tenants):
        raise AssertionError(f"gacerd knew only {sorted(seen)}: the client ran beside it")


def main():
    if not PYTHON.exists():
        skip(f"{PYTHON} is missing; scripts/setup.sh makes it")
    stage = Stage()
    try:
        {"alone": alone, "colocated": colocated}[sys.argv[1]](stage)
    finally:
        stage.close()


if __name__ == "__main__":
    main()
