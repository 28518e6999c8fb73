# SPDX-License-Identifier: Apache-2.0
"""What the tests of doctor, run and coverage share: an environment, a folder, a daemon."""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from stage import wait_for  # noqa: E402

BUILD = pathlib.Path(os.environ["GACER_BUILD"]).resolve()
SHIM = BUILD / "lib" / "libgacer.so"
HERE = BUILD / "tests" / "doctor"
# Behind any wrapper script: the program that runs.
PYTHON = os.path.realpath(sys.executable)
LIMIT_S = 120


class DoctorCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gacer-doctor-"))
        self.folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.socket = self.folder / "g.sock"
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("GACER_", "NULLCUDA_", "LD_", "CUDA_MPS_", "SIMGPU_"))}
        self.environment.update(GACER_SOCKET=str(self.socket), CUDA_MPS_PIPE_DIRECTORY=str(self.folder / "mps"))

    def driver(self, name="nulldriver"):
        self.environment["LD_LIBRARY_PATH"] = str(BUILD / name)

    def start(self, *words, **environment):
        process = subprocess.Popen([str(word) for word in words], env=dict(self.environment, **environment),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        try:  # its children keep its pipes
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if not process.stdout.closed:
            process.communicate(timeout=LIMIT_S)

    def gacer(self, *words, user=None, **environment):
        return subprocess.run([BUILD / "bin" / "gacer", *map(str, words)], env=dict(self.environment, **environment),
                              capture_output=True, text=True, timeout=LIMIT_S, user=user)

    def start_daemon(self, *options):
        daemon = self.start(BUILD / "bin" / "gacerd", "--socket", self.socket, *options)
        wait_for(lambda: self.gacer("status").returncode == 0, "gacerd answers")
        return daemon

    def status(self):
        return json.loads(self.gacer("status", "--json").stdout)

    def copy(self, source, name, mode=0o755):
        target = self.folder / name
        shutil.copy(source, target)
        target.chmod(mode)
        return target

    def patched(self, source, name, offset, data):
        """A copy of a program with other bytes at an offset."""
        target = self.copy(source, name)
        whole = bytearray(target.read_bytes())
        whole[offset:offset + len(data)] = data
        target.write_bytes(whole)
        return target

    def newer_shim(self):
        """The shim as a build on a far newer system would be."""
        target = self.copy(SHIM, "libgacer.so")
        whole = target.read_bytes()
        newest = max(re.findall(rb"GLIBC_2\.(\d\d)\0", whole), key=int)
        name = b"GLIBC_2." + newest + b"\0"
        hashes = [struct.pack("<I", elf_hash(text)) for text in (name[:-1], b"GLIBC_2.99")]
        target.write_bytes(whole.replace(name, b"GLIBC_2.99\0").replace(*hashes))
        return target


def elf_hash(name):
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xf0)) & 0xfffffff
    return value
