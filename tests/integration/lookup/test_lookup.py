# SPDX-License-Identifier: Apache-2.0
"""cuGetProcAddress and dlsym under the preload, on null drivers of several ages."""
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from preload_case import BUILD, NULL, PreloadCase  # noqa: E402

ASK = pathlib.Path(__file__).resolve().parent / "ask.py"
HOOKS = pathlib.Path(__file__).resolve().parents[3] / "interpose" / "hooks"
SUCCESS, INVALID_VALUE, NOT_SUPPORTED, NOT_FOUND = 0, 1, 801, 500
VERSIONS = [11030, 11040, 11080, 12000, 12030, 12080, 13000, 13010, 14000]
KINDS = ["v1", "v2", "v2 without status"]
UNKNOWN = [f"cuUnknown{i}" for i in range(48)] + ["", "cuda"]


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    return sorted(name for name in (line.split()[-1] for line in listing.stdout.splitlines()) if name.startswith("cu"))


def base_of(symbol):
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", symbol)


def hooked():
    rows = "".join(part.read_text() for part in HOOKS.glob("*.def"))
    return set(re.findall(r"^GACER_HOOK\((\w+),", rows, re.MULTILINE))


DRIVER_NAMES = exported(NULL / "libcuda.so.1")
BASES = sorted({base_of(name) for name in DRIVER_NAMES})


class LookupTest(PreloadCase):
    def ask(self, question, argument=None, **kinds):
        ran = self.succeed(sys.executable, ASK, question, *([json.dumps(argument)] if argument is not None else []), **kinds)
        return json.loads(ran.stdout)

    def ask_many(self, names, versions=(12000,), flags=(0,), kinds=("v2",), **environment):
        question = {"names": list(names), "versions": list(versions), "flags": list(flags), "kinds": list(kinds)}
        return self.ask("many", question, **environment)

    def test_sym_05_success_never_comes_with_null_and_not_found_never_with_a_pointer(self):
        seen = set()
        for name, version, flags, kind, result, status, _, _, address in self.ask_many(
                BASES + UNKNOWN, VERSIONS, [0, 1, 2], KINDS):
            case = (name, version, flags, kind, result, status, address)
            if version > 13000:  # newer than the null driver: an error of the caller, nothing is written
                self.assertEqual((result, address), (INVALID_VALUE, 1), case)
                continue
            seen.add((result, status))
            found = result == SUCCESS and status in (None, 0)
            self.assertEqual(found, address is not None, case)
            if name in UNKNOWN:
                self.assertFalse(found, case)
            # A caller without a status is told by the result, one with a status by the status (cuda.h).
            self.assertEqual((result, status) if not found else None,
                             None if found else (SUCCESS, 1) if kind == "v2" else (NOT_FOUND, None), case)
        self.assertEqual(seen, {(SUCCESS, None), (SUCCESS, 0), (SUCCESS, 1), (NOT_FOUND, None)})

    def test_sym_01_every_function_that_is_looked_up_is_the_shims(self):
        for name, version, flags, kind, result, status, file, _, _ in self.ask_many(
                BASES, [11080, 12000, 13000], [0, 1, 2], KINDS):
            if result == SUCCESS and status in (None, 0):
                self.assertEqual(file, "libgacer.so", (name, version, flags, kind))

    def test_sym_04_the_variant_is_the_one_that_the_driver_would_have_given(self):
        question = (BASES, [11030, 11080, 12000, 12030, 12050, 13000], [0, 2])
        bare = self.ask_many(*question, preload=None)
        ours = self.ask_many(*question)
        by_address = {}
        hooks = hooked()
        for before, after in zip(bare, ours):
            self.assertEqual(before[:6], after[:6])
            if before[8] is None:
                continue
            driver_symbol = before[7]
            # Forwarders carry the symbol's own name; a hook stands for one symbol of the driver only.
            if driver_symbol in hooks:
                self.assertEqual(by_address.setdefault(after[8], driver_symbol), driver_symbol, before)
            else:
                self.assertEqual(after[7], driver_symbol, before)

    def test_sym_01_a_program_that_takes_everything_from_the_lookup_is_seen_whole(self):
        daemon = self.stand_in("--mode", "window", "--window", "1000000000", "--record", "--mem", "16777216")
        answers = self.ask("work", 20)
        self.assertEqual(set(answers), {SUCCESS})
        seen = daemon.end()
        self.assertEqual(seen["clients"][0]["launches"], 20)
        self.assertEqual(seen["clients"][0]["kernel_records"] + seen["clients"][0]["dropped"], 20)
        self.assertEqual(self.launches_in_driver(), 20)

    def test_sym_02_the_lookup_may_be_the_first_call_of_a_process(self):
        names = BASES[:20]
        for kind in KINDS:
            answers = self.ask_many(names, [12000], [0], [kind])
            self.assertEqual({answer[6] for answer in answers if answer[8]}, {"libgacer.so"})
        self.assertNotIn("cuInit", self.trace_lines())

    def test_sym_02_it_looks_itself_up_with_four_arguments_before_12_and_five_from_then_on(self):
        for version, name, result, status, file, _ in self.ask("itself", ["cuLaunchKernel", "cuCtxCreate", "cuNope"]):
            expected = (SUCCESS if name != "cuNope" or version >= 12000 else NOT_FOUND)
            self.assertEqual(result, expected, (version, name))
            self.assertEqual(status, -1 if version < 12000 else int(name == "cuNope"), (version, name))
            self.assertEqual(file, None if name == "cuNope" else "libgacer.so", (version, name))

    def test_missing_arguments_are_answered_by_the_driver(self):
        self.assertEqual(self.ask("null"), self.ask("null", preload=None))
        self.assertEqual({answer[0] for answer in self.ask("null")}, {INVALID_VALUE})

    def test_every_way_to_a_function_ends_in_the_shim(self):
        bare = {row[0]: row for row in self.ask("ways", ["cuLaunchKernel", "cuMemFree"], preload=None)}
        for name, by_handle, by_default, by_version, by_lookup in self.ask("ways", ["cuLaunchKernel", "cuMemFree"]):
            self.assertEqual([by_handle, by_default, by_lookup], ["libgacer.so"] * 3, name)
            # The driver has no symbol versions: whether a version finds it is up to the loader, as without us.
            self.assertIn(by_version, (None, "libgacer.so"))
            self.assertEqual(by_version is None, bare[name][3] is None)

    # -- drivers of other ages ----------------------------------------------------------------------------------

    def test_sym_03_a_driver_without_the_second_lookup_is_asked_by_the_first(self):
        driver = BUILD / "onelookup"
        for name, _, _, kind, result, status, file, _, address in self.ask_many(
                ["cuLaunchKernel", "cuInit", "cuNope"], [11030, 11080], [0, 2], KINDS, driver=driver):
            self.assertEqual(file, None if name == "cuNope" else "libgacer.so", (name, kind))
            if kind == "v2":
                self.assertEqual((result, status), (SUCCESS, int(name == "cuNope")))
            else:
                self.assertEqual(result, NOT_FOUND if name == "cuNope" else SUCCESS)

    def test_sym_03_a_driver_without_any_lookup_answers_not_supported(self):
        for *_, result, status, _, _, address in self.ask_many(["cuLaunchKernel"], [11030], [0], KINDS,
                                                               driver=BUILD / "nolookup"):
            self.assertEqual((result, address), (NOT_SUPPORTED, None))

    def test_sym_03_a_name_that_the_driver_lacks_is_never_handed_out(self):
        thin = {base_of(name) for name in exported(BUILD / "thindriver" / "libcuda.so.1")}
        missing = [base for base in BASES if base not in thin]
        self.assertGreater(len(missing), 30)
        for name, *_, result, status, file, _, address in self.ask_many(missing, [12000, 13000], [0, 2], KINDS,
                                                                        driver=BUILD / "thindriver"):
            self.assertIsNone(address, name)

    def test_sym_20_programs_work_on_a_driver_that_lacks_a_third_of_its_names(self):
        ours = self.ask_many(BASES, [12000], [0], KINDS, driver=BUILD / "thindriver")
        bare = self.ask_many(BASES, [12000], [0], ["v1"], driver=BUILD / "thindriver", preload=None)
        found = {row[0] for row in bare if row[4] == SUCCESS}
        self.assertGreater(len(found), 200)
        self.assertEqual({row[0] for row in ours if row[8] is not None}, found)

    def test_sym_20_names_that_nobody_knows_yet_reach_the_driver_by_the_lookup(self):
        names = [f"cuFuture{i:02}" for i in range(40)]
        answers = self.ask_many(names, [12000], [0, 2], KINDS, driver=BUILD / "newdriver")
        self.assertEqual({(row[4], row[6], row[7] == row[0]) for row in answers}, {(SUCCESS, "libcuda.so.1", True)})

    def test_sym_20_a_driver_behind_a_versioned_name_outside_the_default_path_is_found(self):
        self.succeed(BUILD / "tests" / "shim_client", "launch", 50, driver=BUILD / "newdriver")
        self.assertEqual(self.launches_in_driver(), 50)
        self.trace.unlink()
        path = BUILD / "newdriver" / "libcuda.so.999.1"
        self.succeed(BUILD / "tests" / "shim_client", "launch", 50, driver=None, GACER_REAL_LIBCUDA=str(path))
        self.assertEqual(self.launches_in_driver(), 50)

    def test_sym_20_a_shim_built_with_that_drivers_names_exports_them_too(self):
        root = HOOKS.parents[1]
        for arch, compiler in (("x86_64", "cc"), ("aarch64", "aarch64-linux-gnu-gcc")):
            subprocess.run([sys.executable, "-B", root / "scripts" / "gen_hooks.py", "--stub", os.environ["GACER_STUB"],
                            "--hooks", HOOKS.parent / "cuda_hooks.def", "--out", self.folder, "--arch", arch,
                            "--also", BUILD / "newdriver" / "libcuda.so.1"], check=True)
            if platform.machine() != arch and shutil.which(compiler) is None:
                continue
            subprocess.run([compiler, "-c", self.folder / "forwarders.S", "-o", self.folder / "f.o"], check=True)
            defined = subprocess.run(["readelf", "-sW", self.folder / "f.o"], check=True, capture_output=True, text=True)
            for name in ("cuFuture00", "cuFuture39", "cuLaunchKernel"):
                self.assertTrue(re.search(rf"FUNC +GLOBAL +DEFAULT +1 {name}\b", defined.stdout), name)
                self.assertIn(f" {name};", (self.folder / "exports.map").read_text())

    def test_by_dlsym_a_newer_name_is_missing_as_in_an_older_driver(self):
        rows = self.ask("ways", ["cuFuture00"], driver=BUILD / "newdriver")
        self.assertEqual(rows, [["cuFuture00", None, None, None, "libcuda.so.1"]])


if __name__ == "__main__":
    unittest.main()
