# SPDX-License-Identifier: Apache-2.0
"""A stage for integration tests: one simulated device, one gacerd, tenants; all in a folder of their own.

GACER_BUILD names the build folder. Everything started is ended by close().
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("GACER_BUILD", "build/release")).resolve()
LIMIT_S = 120


def wait_for(condition, what, limit_s=LIMIT_S):
    """Polls until condition() is true and returns its value; fails the test with `what` after a generous limit."""
    deadline = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not seen within {limit_s} s: {what}")
        time.sleep(0.02)


class Process:
    def __init__(self, command, environment, log):
        self.log = log
        self.command = [str(part) for part in command]
        with open(log, "w") as out:
            self.process = subprocess.Popen(self.command, env=environment, stdout=out, stderr=out)

    @property
    def pid(self):
        return self.process.pid

    def text(self):
        return self.log.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.process.wait(LIMIT_S)

    def wait(self):
        return self.process.wait(LIMIT_S)


class Stage:
    def __init__(self, mps=True, **environment):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gacer-stage-"))
        self.socket = self.folder / "gacer.sock"
        self.processes, self.mps_running, self.count = [], False, 0
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("SIMGPU_", "GACER_", "CUDA_MPS_"))}
        self.environment.update({
            "SIMGPU_DIR": str(self.folder / "sim"), "SIMGPU_DEVICE": "A100", "SIMGPU_EXEC": "full",
            "CUDA_MPS_PIPE_DIRECTORY": str(self.folder / "mps"), "LD_LIBRARY_PATH": str(BUILD / "sim")})
        self.environment.update(environment)
        if mps:
            self.control_mps("-d")
            self.mps_running = True

    def control_mps(self, *arguments, stdin=None):
        subprocess.run([BUILD / "sim" / "nvidia-cuda-mps-control", *arguments], env=self.environment, input=stdin,
                       text=True, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S)

    def start(self, *command, **environment):
        self.count += 1
        process = Process(command, dict(self.environment, **environment), self.folder / f"{self.count}.log")
        self.processes.append(process)
        return process

    def start_daemon(self, *options):
        daemon = self.start(BUILD / "bin" / "gacerd", "--socket", self.socket, *options)
        wait_for(lambda: self.try_status() is not None, f"gacerd answers; its log: {daemon.text()}")
        return daemon

    def gacer(self, *arguments):
        return subprocess.run([BUILD / "bin" / "gacer", *map(str, arguments)], env=self.environment, capture_output=True,
                              text=True, timeout=LIMIT_S)

    def try_status(self):
        answer = self.gacer("status", "--json", "--socket", self.socket)
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def tenant(self, name):
        """The tenant of that name in gacerd's status, or None."""
        status = self.try_status() or {"tenants": []}
        return next((t for t in status["tenants"] if t["name"] == name), None)

    def run_command(self, name, tenant_class, *options):
        return [BUILD / "bin" / "gacer", "run", "--no-daemon", "--socket", self.socket, "--name", name,
                "--class", tenant_class, *options, "--"]

    def model(self, *options, wrapper=(), **environment):
        return self.start(*wrapper, BUILD / "bin" / "gacer-model", *options, **environment)

    def close(self):
        for process in self.processes:
            if process.alive():
                process.kill()
        if self.mps_running:
            self.control_mps(stdin="quit\n")
        # The device ends by itself after its last client.
        wait_for(lambda: not (self.folder / "sim" / "device.sock").exists(), "the simulated device ends")
        shutil.rmtree(self.folder, ignore_errors=True)
