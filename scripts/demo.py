# SPDX-License-Identifier: Apache-2.0
"""The main job: a latency tenant beside a batch tenant on one simulated GPU, in four modes.

alone      each tenant by itself
timeslice  both, no MPS: the device gives one process at a time a quantum
mps        both under MPS, nobody regulates
gacer      both under MPS, started by `gacer run`; policy and knobs are SETTINGS below

All four share one simulated device, so kernels are costed once. Host times are divided by the time scale of the
simulated device. The latency tenant's load is half of what it reaches alone in a closed loop.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLASSES = {"bert-base": "latency", "resnet50": "batch"}
# Knobs of gacerd in microseconds of device time: a window that drains within about a kernel, and company for the
# latency tenant in the first 6 ms of a stretch of work. gacerd counts host time, so the time scale multiplies them.
SETTINGS = {"window_us": 500, "latency_grace_us": 6000}


class DemoError(Exception):
    pass


def parse_arguments():
    parser = argparse.ArgumentParser(prog="demo.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="build folder (default %(default)s)")
    parser.add_argument("--out", default="build/demo", help="folder for result.json and timeline.json")
    parser.add_argument("--device", default="A100", help="simulated device (default %(default)s)")
    parser.add_argument("--time-scale", type=float, default=8.0, help="real ns per model ns (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="measured wall seconds per run (default %(default)s)")
    parser.add_argument("--latency-model", default="bert-base")
    parser.add_argument("--batch-model", default="resnet50")
    parser.add_argument("--batch", type=int, default=32, help="batch size of the batch tenant (default %(default)s)")
    parser.add_argument("--load", type=float, default=0.5, help="share of the latency tenant's capacity (default %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="tune gacerd")
    arguments = parser.parse_args()
    for name in ("time_scale", "seconds", "load"):
        if getattr(arguments, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} must be greater than 0")
    return arguments


class Progress:
    """One line that is rewritten on a terminal and appended to otherwise."""

    def __init__(self, steps):
        self.steps, self.done, self.start = steps, 0, time.monotonic()

    def step(self, text):
        self.done += 1
        line = f"demo: [{self.done}/{self.steps}] {text} ({time.monotonic() - self.start:.0f} s)"
        end = "" if sys.stdout.isatty() else "\n"
        print(("\r\033[K" if sys.stdout.isatty() else "") + line, end=end, flush=True)

    def finish(self):
        if sys.stdout.isatty():
            print("\r\033[K", end="", flush=True)


class Device:
    """The simulated device of this demo: its folder, environment and MPS control daemon."""

    def __init__(self, arguments, out):
        self.sim = ROOT / arguments.build / "sim"
        self.folder, self.mps_folder = out / "sim", out / "mps"
        for folder in (self.folder, self.mps_folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, mode=0o700)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("SIMGPU_", "GACER_", "CUDA_MPS_"))}
        self.environment.update({
            "SIMGPU_DIR": str(self.folder), "SIMGPU_DEVICE": arguments.device, "SIMGPU_EXEC": "sample",
            "SIMGPU_TIME_SCALE": str(arguments.time_scale), "SIMGPU_TIMELINE": str(out / "timeline.json"),
            "SIMGPU_LINGER_S": "30", "CUDA_MPS_PIPE_DIRECTORY": str(self.mps_folder),
            "LD_LIBRARY_PATH": str(self.sim)})

    def mps(self, *arguments, stdin=None):
        subprocess.run([self.sim / "nvidia-cuda-mps-control", *arguments], env=self.environment, input=stdin,
                       text=True, check=True, stdout=subprocess.DEVNULL)

    def mps_on(self):
        self.mps("-d")

    def mps_off(self):
        self.mps(stdin="quit\n")

    def server_pids(self):
        found = subprocess.run(["pgrep", "-f", f"simgpu-server.*{self.folder}"], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def close(self, limit_s=20):
        """Ends the server so that it writes its timeline."""
        for pid in self.server_pids():
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + limit_s
        while self.server_pids() and time.monotonic() < deadline:
            time.sleep(0.05)


class Tenant:
    def __init__(self, demo, mode, model, wrapper, options):
        self.demo, self.mode, self.model = demo, mode, model
        self.tenant_class = CLASSES.get(model, "latency" if model == demo.arguments.latency_model else "batch")
        stem = demo.out / f"{mode}-{model}"
        self.report, self.log = stem.with_suffix(".json"), stem.with_suffix(".log")
        self.report.unlink(missing_ok=True)
        command = [*wrapper, ROOT / demo.arguments.build / "bin" / "gacer-model", model, "--json", self.report,
                   "--start-file", demo.start_file, *map(str, options)]
        environment = dict(demo.device.environment, SIMGPU_LABEL=f"{mode}: {model}")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([str(c) for c in command], env=environment, stdout=log, stderr=log)

    def wait_warm(self, limit_s=240):
        deadline = time.monotonic() + limit_s
        while "warm" not in self.log.read_text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise DemoError(f"{self.mode} {self.model} did not get ready; see {self.log}:\n{self.log.read_text()[-800:]}")
            time.sleep(0.02)

    def finish(self, limit_s=240):
        try:
            code = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise DemoError(f"{self.mode} {self.model} did not end within {limit_s} s; see {self.log}") from None
        if code != 0:
            raise DemoError(f"{self.mode} {self.model} ended with {code}; see {self.log}:\n{self.log.read_text()[-800:]}")
        return json.loads(self.report.read_text())


class Demo:
    def __init__(self, arguments):
        self.arguments = arguments
        self.out = ROOT / arguments.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.device = Device(arguments, self.out)
        self.start_file = self.out / "start"
        self.runs = []

    def latency_options(self, rate):
        a = self.arguments
        arrival = ["--arrival", f"poisson:{rate / a.time_scale:.6f}"] if rate else ["--arrival", "closed"]
        return ["--batch", 1, "--warmup", 3, "--seconds", a.seconds, "--seed", 7, *arrival]

    def batch_options(self):
        return ["--batch", self.arguments.batch, "--warmup", 1, "--arrival", "closed", "--seed", 7,
                "--seconds", self.arguments.seconds]

    def measure(self, mode, specs, wrap=lambda tenant_class: []):
        """Starts the tenants, lets all of them warm up, then measures them together."""
        self.start_file.unlink(missing_ok=True)
        tenants = [Tenant(self, mode, model, wrap(CLASSES.get(model, "batch")), options) for model, options in specs]
        try:
            for tenant in tenants:
                tenant.wait_warm()
            self.start_file.touch()
            return [(tenant, tenant.finish()) for tenant in tenants]
        finally:
            for tenant in tenants:
                if tenant.process.poll() is None:
                    tenant.process.kill()
                    tenant.process.wait()

    def record(self, mode, results):
        scale = self.arguments.time_scale
        for tenant, report in results:
            self.runs.append({
                "mode": mode, "tenant": tenant.model, "class": tenant.tenant_class,
                "p50_ms": report["p50_ms"] / scale, "p90_ms": report["p90_ms"] / scale,
                "p99_ms": report["p99_ms"] / scale, "max_ms": report["max_ms"] / scale,
                "requests": report["requests"], "requests_per_s": report["requests_per_s"] * scale})

    def gacer_wrapper(self, socket):
        gacer = ROOT / self.arguments.build / "bin" / "gacer"
        return lambda tenant_class: [gacer, "run", "--socket", socket, "--name", tenant_class, "--class", tenant_class, "--"]

    def run(self):
        a = self.arguments
        progress = Progress(6)
        batch = (a.batch_model, self.batch_options())
        progress.step(f"{a.latency_model} alone, closed loop: its capacity")
        (_, closed), = self.measure("capacity", [(a.latency_model, self.latency_options(None))])
        rate = closed["requests_per_s"] * a.time_scale * a.load
        latency = (a.latency_model, self.latency_options(rate))
        progress.step(f"{a.latency_model} alone, Poisson {rate:.0f} requests/s of device time")
        self.record("alone", self.measure("alone", [latency]))
        progress.step(f"{a.batch_model} alone, batch {a.batch}")
        self.record("alone", self.measure("alone", [batch]))
        progress.step("both, time-sliced")
        self.record("timeslice", self.measure("timeslice", [latency, batch]))
        self.device.mps_on()
        try:
            progress.step("both, MPS without gacer")
            self.record("mps", self.measure("mps", [latency, batch]))
            progress.step("both, MPS with gacer")
            self.run_gacer([latency, batch])
        finally:
            self.device.mps_off()
        progress.finish()

    def run_gacer(self, specs):
        socket = self.out / "gacer.sock"
        gacerd = ROOT / self.arguments.build / "bin" / "gacerd"
        scaled = [f"{key}={round(value * self.arguments.time_scale)}" for key, value in SETTINGS.items()]
        settings = [part for setting in scaled + self.arguments.set for part in ("--set", setting)]
        with open(self.out / "gacerd.log", "w") as log:
            daemon = subprocess.Popen([gacerd, "--socket", socket, "--policy", "priority", *settings], stderr=log, stdout=log)
        try:
            deadline = time.monotonic() + 10
            while not socket.exists():
                if daemon.poll() is not None or time.monotonic() > deadline:
                    raise DemoError(f"gacerd did not start; see {self.out / 'gacerd.log'}")
                time.sleep(0.02)
            self.record("gacer", self.measure("gacer", specs, self.gacer_wrapper(socket)))
        finally:
            daemon.terminate()
            daemon.wait(10)

    def alone(self, tenant):
        return next(r for r in self.runs if r["mode"] == "alone" and r["tenant"] == tenant)

    def print_table(self):
        print(f"\n{'mode':<10} {'tenant':<12} {'class':<8} {'p50 ms':>8} {'p99 ms':>8} {'p99/alone':>9} {'req/s':>8} {'thr/alone':>9}")
        for run in self.runs:
            alone = self.alone(run["tenant"])
            print(f"{run['mode']:<10} {run['tenant']:<12} {run['class']:<8} {run['p50_ms']:>8.2f} {run['p99_ms']:>8.2f} "
                  f"{run['p99_ms'] / alone['p99_ms']:>9.2f} {run['requests_per_s']:>8.1f} "
                  f"{run['requests_per_s'] / alone['requests_per_s']:>9.2f}")

    def write(self):
        result = {"device": self.arguments.device, "time_scale": self.arguments.time_scale, "runs": self.runs}
        (self.out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
        print(f"\nresults: {self.out / 'result.json'}   timeline (open in ui.perfetto.dev): {self.out / 'timeline.json'}")


def main():
    demo = Demo(parse_arguments())
    started = time.monotonic()
    try:
        demo.run()
        demo.print_table()
        print(f"\nmeasured part: {time.monotonic() - started:.0f} s; times are model time of the simulated device")
    except DemoError as error:
        print(f"\ndemo: error: {error}", file=sys.stderr)
        return 1
    finally:
        demo.device.close()
    demo.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
