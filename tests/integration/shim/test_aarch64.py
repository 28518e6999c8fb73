# SPDX-License-Identifier: Apache-2.0
"""The preload for 64-bit Arm: cross-compiled, looked at, and run under qemu-user on the null driver."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["GACER_BUILD"])
ARM = ROOT / "build" / "aarch64"
SHIM = ARM / "lib" / "libgacer.so"
LOOKUP = ROOT / "tests" / "integration" / "lookup"
CLIENT = ARM / "tests" / "shim_client"
NEWEST_GLIBC = (2, 34)
LIMIT_S = 300
CROSS = "aarch64-linux-gnu-"
SYSROOT = "/usr/aarch64-linux-gnu"


def output(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def defined(listing):
    return {row[2].split("@")[0] for row in map(str.split, listing.splitlines()) if len(row) == 3}


class Aarch64Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        built = subprocess.run([ROOT / "scripts" / "build.sh", "aarch64"], capture_output=True, text=True)
        assert built.returncode == 0, built.stdout + built.stderr

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gacer-arm-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.trace = self.folder / "trace"

    # -- the file -----------------------------------------------------------------------------------------------

    def test_sym_11_it_asks_for_no_symbol_version_that_the_architecture_never_had(self):
        versions = re.findall(r"@GLIBC_(\d+)\.(\d+)", output(CROSS + "nm", "-D", SHIM))
        numbers = [(int(a), int(b)) for a, b in versions]
        self.assertTrue(numbers)
        self.assertGreaterEqual(min(numbers), (2, 17))
        self.assertLessEqual(max(numbers), NEWEST_GLIBC)
        self.assertNotIn("GLIBC_PRIVATE", output(CROSS + "readelf", "--dyn-syms", "-W", SHIM))

    def test_it_exports_what_the_other_one_exports(self):
        ours = defined(output(CROSS + "nm", "-D", "--defined-only", SHIM))
        theirs = defined(output("nm", "-D", "--defined-only", BUILD / "lib" / "libgacer.so"))
        self.assertGreater(len(ours), 300)
        self.assertEqual(ours, theirs)

    def test_it_stands_in_the_drivers_place_and_is_hardened(self):
        dynamic = output(CROSS + "readelf", "-dW", SHIM)
        self.assertIn("soname: [libcuda.so.1]", dynamic)
        self.assertEqual(set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)), {"libc.so.6"})
        self.assertIn("BIND_NOW", dynamic)
        self.assertNotIn("TEXTREL", dynamic)
        segments = output(CROSS + "readelf", "-lW", SHIM)
        self.assertIn("GNU_RELRO", segments)
        self.assertRegex(segments, r"GNU_STACK\s+(0x0+\s+){5}RW\s")

    # -- running ------------------------------------------------------------------------------------------------

    def emulated(self, *arguments, program=CLIENT, **more):
        inside = dict({"LD_PRELOAD": SHIM, "LD_LIBRARY_PATH": ARM / "nulldriver", "NULLCUDA_TRACE": self.trace,
                       "GACER_SOCKET": self.folder / "none"}, **more)
        command = ["qemu-aarch64", "-L", SYSROOT]
        for name, value in inside.items():
            command += ["-E", f"{name}={value}"]
        ran = subprocess.run([*command, str(program), *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran

    def launches_in_driver(self):
        lines = [line.split() for line in self.trace.read_text().splitlines()]
        return sum(int(line[2]) for line in lines if line[1] == "launches")

    def test_launches_arrive_without_a_daemon(self):
        self.emulated("launch", 200)
        self.assertEqual(self.launches_in_driver(), 200)

    def test_forwarders_pass_registers_stack_and_vector_registers_on(self):
        self.emulated("forwarded")

    def test_other_libraries_open_as_their_program_asked(self):
        self.assertEqual(self.emulated(program=ARM / "tests" / "shim_plugin_host").stdout, "")

    def test_lookups_answer_the_shim(self):
        where = dict(line.split() for line in self.emulated("lookups").stdout.splitlines())
        self.assertEqual(set(where.values()), {"libgacer.so"})

    def compile(self, target, *arguments, compiler="gcc"):
        target = self.folder / target
        subprocess.run([CROSS + compiler, "-O2", "-o", target, *map(str, arguments)], check=True)
        return target

    def test_sym_07_a_call_on_to_the_next_library_goes_on_as_without_us(self):
        link = LOOKUP / "chain_link.c"
        first = self.compile("liba.so", "-shared", "-fPIC", "-DCHAIN_NAME=a", "-DCHAIN_OMPT", link)
        second = self.compile("libb.so", "-shared", "-fPIC", "-DCHAIN_NAME=b", link)
        host = self.compile("host", LOOKUP / "chain_host.c", "-Wl,--no-as-needed", first, second)
        self.assertEqual(self.emulated(program=host).stdout, "71 1 1 no tool\n")

    def test_the_librarys_own_cpp_runtime_throws_and_catches(self):
        program = self.compile("thrower", LOOKUP / "own_runtime.cpp", ROOT / "interpose" / "libc_compat.cpp",
                               ROOT / "interpose" / "unwind_compat.cpp", "-std=c++20", "-pthread", "-static-libstdc++",
                               "-static-libgcc", compiler="g++")
        self.assertEqual(self.emulated(program=program, LD_PRELOAD="").stdout, "")

    def test_a_lone_and_a_regulated_tenant_are_seen_by_a_daemon(self):
        for words in (["--mode", "ungated"], ["--mode", "window", "--window", "1000000000", "--record"]):
            with self.subTest(words=words):
                self.trace.unlink(missing_ok=True)
                socket = self.folder / "d.sock"
                daemon = subprocess.Popen([BUILD / "tests" / "gacer_standin", "--socket", socket, *words], text=True,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self.addCleanup(daemon.kill)
                self.assertEqual(daemon.stdout.readline(), "ready\n")
                self.emulated("launch", 200, GACER_SOCKET=socket)
                seen = json.loads(daemon.communicate(timeout=LIMIT_S)[0])
                self.assertEqual([client["launches"] for client in seen["clients"]], [200])
                self.assertEqual(self.launches_in_driver(), 200)


def missing_tools():
    tools = [CROSS + "g++", CROSS + "readelf", "qemu-aarch64"]
    return [tool for tool in tools if shutil.which(tool) is None]


if __name__ == "__main__":
    if missing_tools():
        print(f"SKIPPED: {', '.join(missing_tools())} not installed (scripts/setup.sh installs them)")
        sys.exit(0)
    unittest.main()
