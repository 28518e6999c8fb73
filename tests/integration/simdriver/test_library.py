#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated libcuda.so.1 as a file: what it exports and needs, and that an ordinary program runs on it.

  GACER_BUILD, GACER_CUDA_STUB and VECTOR_ADD name the build folder, the toolkit's stub and the compiled vector_add.c.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["GACER_BUILD"])
LIBRARY = BUILD / "sim" / "libcuda.so.1"


def exported(path):
    lines = subprocess.check_output(["nm", "-D", "--defined-only", path], text=True).splitlines()
    return {line.split()[2].split("@")[0] for line in lines if line.split()[1] in "TWV"}


class Library(unittest.TestCase):
    def test_exports_exactly_the_symbols_of_the_stub(self):
        self.assertEqual(exported(LIBRARY), exported(os.environ["GACER_CUDA_STUB"]))

    def test_has_the_drivers_name_and_brings_its_cxx_runtime(self):
        dynamic = subprocess.check_output(["readelf", "-d", LIBRARY], text=True)
        self.assertIn("Library soname: [libcuda.so.1]", dynamic)
        needed = set(re.findall(r"NEEDED\).*\[(.*)\]", dynamic))
        self.assertFalse({name for name in needed if name.startswith(("libstdc++", "libgcc", "libzstd"))}, needed)

    def test_a_plain_c_program_runs_and_the_device_ends_after_it(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "sim"), "SIMGPU_DIR": f"{folder}/sim"}
            for variable in ("SIMGPU_EXEC", "SIMGPU_DEVICE", "SIMGPU_TIMELINE", "CUDA_MPS_PIPE_DIRECTORY"):
                environment.pop(variable, None)
            answer = subprocess.run([os.environ["VECTOR_ADD"]], env=environment, capture_output=True, text=True, timeout=120)
            self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (0, "ok\n", ""))

    def test_unsupported_calls_are_logged_once_on_request(self):
        code = ("import ctypes; c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); "
                "print([c.cuGraphicsUnregisterResource(0, 0) for _ in range(3)])")
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "sim"), "SIMGPU_DIR": folder, "SIMGPU_LOG": "debug"}
            answer = subprocess.run(["python3", "-c", code], env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(answer.stdout, "[801, 801, 801]\n")
        self.assertEqual(answer.stderr.count("cuGraphicsUnregisterResource: not supported"), 1, answer.stderr)


if __name__ == "__main__":
    unittest.main()
