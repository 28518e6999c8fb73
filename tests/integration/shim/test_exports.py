# SPDX-License-Identifier: Apache-2.0
"""The preload library as a file: what it exports, what it needs, what it is called."""
import os
import pathlib
import re
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["GACER_BUILD"])
SHIM = BUILD / "lib" / "libgacer.so"
EXTRA = {"dlopen", "gacer_shim_version"}
NEWEST_GLIBC = (2, 36)


def output(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def defined(library):
    rows = (line.split() for line in output("nm", "-D", "--defined-only", library).splitlines())
    return {row[2].split("@")[0] for row in rows if len(row) == 3}


class ExportsTest(unittest.TestCase):
    def test_every_driver_symbol_and_nothing_else_is_exported(self):
        stub = {name for name in defined(os.environ["GACER_STUB"]) if name.startswith("cu")}
        self.assertGreater(len(stub), 300)
        self.assertEqual(defined(SHIM), stub | EXTRA)

    def test_every_hook_is_reached_by_its_exported_name(self):
        hooks = pathlib.Path(__file__).resolve().parents[3] / "interpose" / "hooks"
        rows = "".join(part.read_text() for part in hooks.glob("*.def"))
        names = re.findall(r"^GACER_HOOK\((\w+),", rows, re.MULTILINE)
        code = output("objdump", "-d", "--no-show-raw-insn", SHIM)
        for name in set(names) & defined(SHIM):
            self.assertRegex(code, rf"<{name}>:\n[^\n]*jmp[^\n]*<gacer_hook_{name}>", name)

    def test_it_stands_in_the_drivers_place_and_needs_only_libc(self):
        dynamic = output("readelf", "-d", SHIM)
        self.assertIn("soname: [libcuda.so.1]", dynamic)
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
        self.assertLessEqual(needed, {"libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6"})
        self.assertIn("SYMBOLIC", dynamic)

    def test_it_asks_for_no_newer_libc_than_promised(self):
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("nm", "-D", SHIM))
        self.assertTrue(versions)
        self.assertLessEqual(max((int(a), int(b)) for a, b in versions), NEWEST_GLIBC)


if __name__ == "__main__":
    unittest.main()
