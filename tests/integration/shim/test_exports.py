# SPDX-License-Identifier: Apache-2.0
"""The preload library as a file: what it exports, what it needs, what it is called."""
import os
import pathlib
import re
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["GACER_BUILD"])
SHIM = BUILD / "lib" / "libgacer.so"
EXTRA = {"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2", "dlopen", "gacer_memory_view", "gacer_shim_symbol_of",
         "gacer_shim_version"}
NEWEST_GLIBC = (2, 34)


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
        self.assertEqual(needed, {"libc.so.6"})
        self.assertIn("SYMBOLIC", dynamic)

    def test_sym_12_it_asks_for_no_newer_libc_than_promised(self):
        versions = re.findall(r"@GLIBC_(\d+)\.(\d+)", output("nm", "-D", SHIM))
        self.assertTrue(versions)
        newest = max((int(a), int(b)) for a, b in versions)
        self.assertLessEqual(newest, NEWEST_GLIBC, ", ".join(
            line.split()[-1] for line in output("nm", "-D", SHIM).splitlines()
            if "@GLIBC_%d.%d" % newest in line))

    def test_sym_09_sym_10_it_needs_nothing_private_of_libc(self):
        symbols = output("readelf", "--dyn-syms", "-W", SHIM)
        self.assertIn("GLIBC_", symbols)
        self.assertNotIn("GLIBC_PRIVATE", symbols)
        for private in ("_dl_sym", "__libc_dlopen_mode", "__libc_dlsym", "_dl_find_object", "arc4random"):
            self.assertNotRegex(symbols, rf"\b{private}\b")

    def test_sym_07_it_stands_before_no_lookup_function_of_the_c_library(self):
        self.assertFalse({"dlsym", "dlvsym", "dlclose", "dladdr"} & defined(SHIM))

    def test_it_is_hardened_as_distributions_ask(self):
        dynamic, segments = output("readelf", "-dW", SHIM), output("readelf", "-lW", SHIM)
        self.assertNotIn("TEXTREL", dynamic)
        self.assertIn("BIND_NOW", dynamic)
        self.assertIn("GNU_RELRO", segments)
        self.assertRegex(segments, r"GNU_STACK\s+(0x0+\s+){5}RW\s")
        self.assertNotRegex(segments, r"LOAD.*RWE")
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH)\)")

    def test_no_cpp_of_ours_can_be_seen_by_the_host(self):
        self.assertFalse([name for name in defined(SHIM) if name.startswith("_Z")])
        undefined = output("nm", "-D", "--undefined-only", SHIM)
        self.assertNotRegex(undefined, r"\b(_Z|__cxa_throw|__gxx_personality|_Unwind_)")


if __name__ == "__main__":
    unittest.main()
