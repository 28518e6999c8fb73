# SPDX-License-Identifier: Apache-2.0
"""What tests of programs under the preload share: folders of the build, an environment, a stand-in daemon."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from stage import BUILD, LIMIT_S
from standin import StandIn

SHIM = BUILD / "lib" / "libgacer.so"
NULL = BUILD / "nulldriver"


class PreloadCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gacer-preload-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.socket = str(self.folder / "d.sock")
        self.trace = self.folder / "trace"

    def stand_in(self, *words):
        daemon = StandIn(self.socket, *words)
        self.addCleanup(daemon.kill)
        return daemon

    def environment(self, driver=NULL, preload=SHIM, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GACER_", "NULLCUDA_", "LD_"))}
        env.update(NULLCUDA_TRACE=str(self.trace), GACER_SOCKET=self.socket)
        if driver:
            env["LD_LIBRARY_PATH"] = str(driver)
        if preload:
            env["LD_PRELOAD"] = str(preload)
        env.update(more)
        return env

    def run_program(self, *command, **kinds):
        return subprocess.run([str(part) for part in command], env=self.environment(**kinds), capture_output=True,
                              text=True, timeout=LIMIT_S)

    def succeed(self, *command, **kinds):
        ran = self.run_program(*command, **kinds)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran

    def trace_lines(self):
        return [line.split(maxsplit=1)[1] for line in self.trace.read_text().splitlines()] if self.trace.exists() else []

    def launches_in_driver(self):
        return sum(int(line.split()[1]) for line in self.trace_lines() if line.startswith("launches"))
