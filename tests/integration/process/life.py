# SPDX-License-Identifier: Apache-2.0
"""Programs on the null driver under the preload, beside a stand-in daemon or the real gacerd."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from stage import wait_for  # noqa: E402
from standin import StandIn  # noqa: E402

BUILD = pathlib.Path(os.environ["GACER_BUILD"]).resolve()
SHIM = BUILD / "lib" / "libgacer.so"
CLIENT = BUILD / "tests" / "process_client"
NULL = BUILD / "nulldriver"
LIMIT_S = 120


class LifeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gacer-life-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self.socket = str(self.folder / "d.sock")
        self.trace = self.folder / "trace"

    def environment(self, preload=SHIM, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GACER_", "NULLCUDA_", "LD_"))}
        env.update(LD_LIBRARY_PATH=str(NULL), NULLCUDA_TRACE=str(self.trace), GACER_SOCKET=self.socket)
        if preload:
            env["LD_PRELOAD"] = str(preload)
        env.update({key: str(value) for key, value in more.items()})
        return env

    # -- daemons ----------------------------------------------------------------------------------------------

    def stand_in(self, *words):
        daemon = StandIn(self.socket, *words)
        self.addCleanup(daemon.kill)
        return daemon

    def start_daemon(self, *options, **how):
        log = open(self.folder / "gacerd.log", "a")
        self.addCleanup(log.close)
        daemon = subprocess.Popen([BUILD / "bin" / "gacerd", "--socket", self.socket, *options], stderr=log,
                                  env=self.environment(preload=None), **how)
        self.addCleanup(self.end_daemon, daemon)
        wait_for(lambda: self.try_status() is not None or daemon.poll() is not None, "gacerd answers")
        self.assertIsNone(daemon.poll(), (self.folder / "gacerd.log").read_text())
        return daemon

    def end_daemon(self, daemon, number=signal.SIGKILL):
        if daemon.poll() is None:
            daemon.send_signal(number)
            daemon.wait(LIMIT_S)

    def gacer(self, *words):
        return subprocess.run([BUILD / "bin" / "gacer", *map(str, words), "--socket", self.socket],
                              env=self.environment(preload=None), capture_output=True, text=True, timeout=LIMIT_S)

    def try_status(self):
        answer = self.gacer("status", "--json")
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def tenants(self):
        return {tenant["name"]: tenant for tenant in (self.try_status() or {"tenants": []})["tenants"]}

    # -- clients ----------------------------------------------------------------------------------------------

    def start(self, *arguments, wrapper=(), preload=SHIM, how=None, **environment):
        """A running client; its output is read by finish()."""
        command = [*map(str, wrapper), str(CLIENT), *map(str, arguments)]
        program = subprocess.Popen(command, env=self.environment(preload=preload, **environment),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **(how or {}))
        self.addCleanup(self.end_client, program)
        return program

    def end_client(self, program):
        if program.poll() is None:
            program.kill()
        program.communicate(timeout=LIMIT_S)

    def finish(self, program, code=0):
        out, err = program.communicate(timeout=LIMIT_S)
        self.assertEqual(program.returncode, code, out + err)
        self.assertLessEqual(len(err.splitlines()), 1, err)
        return out, err

    def client(self, *arguments, code=0, **kinds):
        return self.finish(self.start(*arguments, **kinds), code)

    def driver_events(self):
        """(pid, event) of every line the null driver wrote."""
        lines = self.trace.read_text().splitlines() if self.trace.exists() else []
        return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]

    def launches_in_driver(self):
        return sum(int(event.split()[1]) for _, event in self.driver_events() if event.startswith("launches"))
