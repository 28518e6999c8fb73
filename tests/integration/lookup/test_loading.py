# SPDX-License-Identifier: Apache-2.0
"""How the preload gets into programs, and into which: linking, dlopen, runtimes, plugins, other preloads, no CUDA."""
import collections
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from preload_case import BUILD, LIMIT_S, NULL, SHIM, PreloadCase  # noqa: E402

HERE = BUILD / "tests" / "lookup"
WINDOW = ("--mode", "window", "--window", "1000000000", "--record", "--mem", "16777216")
MUSL = HERE / "musl_dynamic"
NO_DEVICE = 100


class LoadingTest(PreloadCase):
    def attached_launches(self, command, kernels, copies=0, **kinds):
        """Runs the command with a daemon; all its launches must be seen by the daemon, all kernels by the driver."""
        daemon = self.stand_in(*WINDOW)
        ran = self.succeed(*command, **kinds)
        seen = daemon.end()
        self.assertEqual([client["launches"] for client in seen["clients"]], [kernels + copies])
        self.assertEqual(self.launches_in_driver(), kernels)
        return ran

    # -- programs and runtimes ----------------------------------------------------------------------------------

    def test_sym_16_four_ways_to_link_give_the_same_accounting(self):
        accounts = {}
        for way in ("way_linked", "way_dlopen", "way_static", "way_shared"):
            self.trace.unlink(missing_ok=True)
            daemon = self.stand_in(*WINDOW)
            self.succeed(HERE / f"lookup_{way}", 200, GACER_TENANT="one")
            seen = daemon.end()
            self.assertEqual(self.launches_in_driver(), 200, way)
            client = seen["clients"][0]
            client = {key: value for key, value in client.items() if key not in ("pid", "connection", "identity")}
            # How many records found the ring full depends on who was faster.
            client["records"] = client.pop("kernel_records") + client.pop("dropped")
            accounts[way] = (len(seen["clients"]), seen["memory_used"], client)
        self.assertEqual(accounts["way_linked"][2]["launches"], 201)  # and the copy
        for way, account in accounts.items():
            self.assertEqual(account, accounts["way_linked"], way)

    def test_sym_13_a_static_constructor_of_an_opened_library_may_make_the_first_call(self):
        for kind in ("static", "shared"):
            self.trace.unlink(missing_ok=True)
            ran = self.succeed(HERE / "lookup_plugin_host", "now", HERE / f"liblookup_early_{kind}.so")
            self.assertEqual(ran.stdout, "early 0\n")
            self.assertEqual(self.launches_in_driver(), 10)

    def test_sym_13_such_a_constructor_does_not_deadlock_with_another_threads_first_call(self):
        ran = self.succeed(HERE / "lookup_plugin_host", "now", HERE / "liblookup_early_race.so")
        self.assertEqual(ran.stdout, "early 0\n")

    def test_sym_15_what_a_math_library_asks_reaches_the_driver_unchanged(self):
        answers, asked = {}, {}
        for preload in (None, SHIM):
            trace = self.folder / f"echo-{preload is None}"
            ran = self.succeed(HERE / "lookup_fake_blas", driver=BUILD / "echodriver", preload=preload,
                               ECHO_TRACE=str(trace))
            answers[preload], asked[preload] = ran.stdout, trace.read_text()
        self.assertIn("a table nobody documents", answers[None])
        self.assertIn("cuStreamQuery_ptsz 0", asked[None])
        self.assertEqual(answers[SHIM], answers[None])
        self.assertEqual(asked[SHIM], asked[None])

    def test_sym_13_the_toolkits_static_runtime_finds_its_driver_functions_in_the_shim(self):
        client = HERE / "lookup_real_runtime"
        if not client.exists():
            self.skipTest("the toolkit has no libcudart_static.a")
        bare, ours = self.succeed(client, preload=None), self.succeed(client)
        self.assertIn("driver 0 ", bare.stdout)
        self.assertEqual(ours.stdout, bare.stdout)

    # -- where the driver is --------------------------------------------------------------------------------------

    def test_sym_18_a_driver_by_rpath_or_runpath_is_the_one_that_is_forwarded_to(self):
        for tag in ("rpath", "runpath"):
            with self.subTest(tag=tag):
                self.trace.unlink(missing_ok=True)
                program = self.with_own_driver(f"lookup_own_{tag}")
                self.attached_launches([program, 30], 30, copies=1, driver=None)
                self.assertIn("cuInit", self.trace_lines())

    def test_sym_18_ld_library_path_stands_between_rpath_and_runpath_as_for_the_loader(self):
        for tag, expected in (("rpath", 0), ("runpath", 30)):
            trace = self.folder / f"{tag}-echo"
            self.trace.unlink(missing_ok=True)
            for preload in (None, SHIM):
                program = self.with_own_driver(f"lookup_own_{tag}")
                maps = self.run_program(program, 1, driver=BUILD / "thindriver", preload=preload, LD_DEBUG="files",
                                        LD_DEBUG_OUTPUT=str(trace) + str(preload is None))
                self.assertEqual(maps.returncode, 0, maps.stdout)
            used = {preload is None: self.driver_in_log(str(trace) + str(preload is None)) for preload in (None, SHIM)}
            self.assertEqual(used[True], used[False], tag)
            self.assertEqual("thindriver" in used[False], bool(expected), tag)

    def driver_in_log(self, prefix):
        """The last libcuda.so.1 that the loader initialised, whose file is not the shim."""
        path = next(pathlib.Path(prefix).parent.glob(pathlib.Path(prefix).name + ".*"))
        found = re.findall(r"calling init: (\S*libcuda\.so\S*)", path.read_text())
        return found[-1]

    def with_own_driver(self, program):
        folder = self.folder / "own-driver"
        folder.mkdir(exist_ok=True)
        shutil.copy(NULL / "libcuda.so.1", folder)
        shutil.copy(HERE / program, self.folder)
        return self.folder / program

    def test_sym_18_a_driver_opened_by_its_path_is_the_one_that_is_forwarded_to(self):
        folder = self.folder / "elsewhere"
        folder.mkdir()
        shutil.copy(NULL / "libcuda.so.1", folder)
        path = folder / "libcuda.so.1"
        self.attached_launches([HERE / "lookup_way_dlopen", 30, path], 30, copies=1, driver=BUILD / "olddriver")
        versioned = folder / "libcuda.so.550.54.14"
        path.rename(versioned)
        self.trace.unlink()
        self.attached_launches([HERE / "lookup_way_dlopen", 30, versioned], 30, copies=1, driver=None)

    def test_every_name_of_the_driver_means_the_shim(self):
        for name in ("libcuda.so.1", "libcuda.so", NULL / "libcuda.so.1", BUILD / "newdriver" / "libcuda.so.999.1"):
            with self.subTest(name=str(name)):
                self.trace.unlink(missing_ok=True)
                self.attached_launches([HERE / "lookup_way_dlopen", 20, name], 20, copies=1)

    def test_every_lookup_of_the_c_library_finds_the_shim(self):
        for preload, expected in ((None, "libcuda.so.1"), (SHIM, "libgacer.so")):
            found = [line.split() for line in self.succeed(HERE / "lookup_next_program", preload=preload).stdout.splitlines()]
            self.assertEqual(len(found), 7)
            self.assertEqual({file for _, file in found}, {expected}, found)

    # -- plugins, namespaces, chains ------------------------------------------------------------------------------

    def test_sym_19_a_plugin_that_prefers_its_own_dependencies_still_gets_the_shim(self):
        for how in ("now", "deep"):
            self.trace.unlink(missing_ok=True)
            ran = self.attached_launches([HERE / "lookup_plugin_host", how, HERE / "liblookup_linked_plugin.so", 40], 40)
            self.assertTrue(ran.stdout.startswith("libgacer.so\n"), how)

    def test_sym_19_a_runtime_in_such_a_plugin_that_opens_the_driver_by_name_gets_the_shim(self):
        self.attached_launches([HERE / "lookup_plugin_host", "deep", HERE / "liblookup_early_static.so"], 10, copies=1)

    def test_sym_19_such_a_plugin_gets_no_more_memory_than_the_tenant_has(self):
        daemon = self.stand_in("--mem", "1048576")
        ran = self.succeed(HERE / "lookup_plugin_host", "deep", HERE / "liblookup_linked_plugin.so", 0)
        self.assertEqual(ran.stdout, "libgacer.so\nout of memory\n")
        self.assertEqual(daemon.end()["memory_used"], 0)

    def test_sym_19_a_namespace_of_its_own_works_and_is_not_governed(self):
        daemon = self.stand_in(*WINDOW)
        ran = self.succeed(HERE / "lookup_plugin_host", "apart", HERE / "liblookup_linked_plugin.so", 40)
        self.assertEqual(ran.stdout, "libcuda.so.1\nmemory\n")
        self.assertEqual(self.launches_in_driver(), 40)
        self.assertEqual(daemon.end()["clients"], [])

    def test_sym_07_a_call_on_to_the_next_library_goes_on_as_without_us(self):
        bare = self.succeed(HERE / "lookup_chain_host", preload=None).stdout
        self.assertEqual(bare, "71 1 1 no tool\n")
        self.assertEqual(self.succeed(HERE / "lookup_chain_host").stdout, bare)

    # -- other preloads, launchers, upgrades ------------------------------------------------------------------------

    def test_another_preload_that_stands_before_dlsym_may_be_in_front_or_behind(self):
        other = HERE / "liblookup_wrap_dlsym.so"
        for preload in (f"{other}:{SHIM}", f"{SHIM}:{other}"):
            with self.subTest(preload=preload):
                self.trace.unlink(missing_ok=True)
                report = self.folder / "report"
                self.attached_launches([HERE / "lookup_way_dlopen", 25], 25, copies=1, preload=preload,
                                       WRAP_DLSYM_REPORT=str(report))
                self.assertGreater(int(report.read_text()), 10)

    def test_preloading_it_twice_is_preloading_it_once(self):
        copy = self.folder / "libgacer-copy.so"
        shutil.copy(SHIM, copy)
        for preload in (f"{SHIM}:{SHIM}", f"{SHIM}:{copy}"):
            self.trace.unlink(missing_ok=True)
            ran = self.attached_launches([HERE / "lookup_way_linked", 25], 25, copies=1, preload=preload)
            self.assertEqual(ran.stderr, "")

    def test_sym_17_a_launcher_that_overwrites_the_preload_may_name_both(self):
        other = HERE / "liblookup_wrap_dlsym.so"
        self.attached_launches([HERE / "lookup_launcher", f"overwrite={other}:{SHIM}", HERE / "lookup_way_linked", 25],
                               25, copies=1)

    def test_sym_17_a_launcher_that_drops_the_preload_starts_a_program_that_works_alone(self):
        for how in ("unset", f"overwrite={HERE / 'liblookup_wrap_dlsym.so'}"):
            self.trace.unlink(missing_ok=True)
            daemon = self.stand_in(*WINDOW)
            self.succeed(HERE / "lookup_launcher", how, HERE / "lookup_way_linked", 25)
            self.assertEqual(self.launches_in_driver(), 25)
            self.assertEqual(daemon.end()["clients"], [])

    def test_sym_17_a_launcher_with_an_empty_environment_starts_a_program_that_works_alone(self):
        program = self.with_own_driver("lookup_own_runpath")
        daemon = self.stand_in(*WINDOW)
        self.succeed(HERE / "lookup_launcher", "empty", program, 25)
        self.assertEqual(daemon.end()["clients"], [])

    def test_a_preload_by_a_path_with_spaces_is_found_by_its_folder(self):
        folder = self.folder / "a b"
        folder.mkdir()
        shutil.copy(SHIM, folder / "libgacer.so")
        ran = self.attached_launches([HERE / "lookup_way_linked", 25], 25, copies=1, preload="libgacer.so",
                                     LD_LIBRARY_PATH=f"{folder}:{NULL}")
        self.assertEqual(ran.stderr, "")

    def test_the_file_may_be_replaced_while_programs_run(self):
        mine, newer = self.folder / "libgacer.so", self.folder / "newer.so"
        shutil.copy(SHIM, mine)
        newer.write_bytes(b"an upgrade in the middle of being written")
        daemon = self.stand_in(*WINDOW)
        program = subprocess.Popen([HERE / "lookup_slow_client", "1000"], env=self.environment(preload=mine), text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(program.stdout.readline(), "half\n")
        os.replace(newer, mine)
        program.communicate("on\n", timeout=LIMIT_S)
        self.assertEqual(program.returncode, 0)
        self.assertEqual(daemon.end()["clients"][0]["launches"], 2000)
        self.assertEqual(self.launches_in_driver(), 2000)

    def test_a_host_with_other_boost_fmt_and_exceptions_is_left_alone(self):
        daemon = self.stand_in(*WINDOW)
        ran = self.succeed(HERE / "lookup_own_cpp_host")
        self.assertEqual(ran.stdout, "caught\n")
        self.assertEqual(daemon.end()["clients"][0]["launches"], 400)

    def test_the_librarys_own_cpp_runtime_throws_and_catches(self):
        self.assertEqual(self.succeed(HERE / "lookup_own_runtime", preload=None).stdout, "")

    # -- programs without CUDA --------------------------------------------------------------------------------------

    def plain_programs(self):
        return [["bash", "-c", "true"], ["/bin/ls", "/"], ["env", "true"], [HERE / "lookup_static_hello"],
                [sys.executable, "-c", "1"]]

    def test_sym_10_programs_without_cuda_say_and_do_the_same_as_before(self):
        for command in self.plain_programs():
            bare, ours = self.run_program(*command, preload=None), self.run_program(*command)
            self.assertEqual((ours.returncode, ours.stdout, ours.stderr), (0, bare.stdout, ""), command)

    def test_sym_10_a_setuid_program_runs_without_us(self):
        program = next((path for path in ("/usr/bin/su", "/bin/su", "/usr/bin/mount", "/bin/mount", "/usr/bin/passwd")
                        if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID), None)
        if program is None:
            self.skipTest("no setuid program is installed")
        # For root it would be an ordinary program; for others the loader drops the preload.
        someone = {"user": 65534} if os.geteuid() == 0 else {}
        bare, ours = (subprocess.run([program, "--help"], env=self.environment(preload=preload), capture_output=True,
                                     text=True, cwd="/", timeout=LIMIT_S, **someone) for preload in (None, SHIM))
        self.assertEqual((ours.returncode, ours.stdout, ours.stderr), (bare.returncode, bare.stdout, bare.stderr))
        self.assertIn("sage", ours.stdout + ours.stderr)

    @unittest.skipUnless(MUSL.exists(), "musl-gcc is not installed")
    def test_con_14_a_static_musl_program_works(self):
        ran = self.succeed(HERE / "musl_static")
        self.assertEqual((ran.stdout, ran.stderr), ("hello\n", ""))

    @unittest.skipUnless(MUSL.exists(), "musl-gcc is not installed")
    def test_con_14_a_dynamic_musl_program_without_cuda_works(self):
        ran = self.succeed(MUSL)
        self.assertEqual((ran.stdout, ran.stderr), ("hello\n", ""))

    @unittest.skipUnless(MUSL.exists(), "musl-gcc is not installed")
    def test_con_14_cuda_in_a_musl_program_is_governed_where_the_driver_loads(self):
        # A driver that asks for no more than the C library.
        daemon = self.stand_in(*WINDOW)
        self.succeed(HERE / "musl_cuda", 10, driver=BUILD / "echodriver")
        self.assertEqual([client["launches"] for client in daemon.end()["clients"]], [11])

    @unittest.skipUnless(MUSL.exists(), "musl-gcc is not installed")
    def test_con_14_cuda_in_a_musl_program_is_refused_with_a_line_where_the_driver_does_not_load(self):
        driver = self.folder / "libcuda.so.1"
        driver.write_bytes(b"needs another C library")
        ran = self.run_program(HERE / "musl_cuda", 10, GACER_REAL_LIBCUDA=str(driver))
        self.assertEqual(ran.returncode, NO_DEVICE, ran)
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        self.assertTrue(ran.stderr.startswith("gacer: warn: no CUDA driver"), ran.stderr)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_sym_10_programs_without_cuda_make_no_system_call_after_loading(self):
        for command in (["bash", "-c", "true"], ["/bin/ls", "/"]):
            bare, ours = self.calls_after_loading(command, ""), self.calls_after_loading(command, str(SHIM))
            # The C library asks for some things at its first allocation, which may be ours.
            self.assertEqual(collections.Counter(ours), collections.Counter(bare), command)

    def calls_after_loading(self, command, preload):
        """Names of the system calls after the loader's last act: giving back its cache, or protecting a segment."""
        log = self.folder / "strace"
        ran = subprocess.run(["strace", "-f", "-o", log, "-E", f"LD_PRELOAD={preload}", *command],
                             env=self.environment(preload=None), capture_output=True, text=True, timeout=LIMIT_S)
        if ran.returncode != 0:
            self.skipTest("strace may not trace here")
        lines = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines() if "(" in line]
        names = [line.split("(")[0] for line in lines]
        last = max(i for i, line in enumerate(lines) if line.startswith("mprotect(") or "ld.so.cache" in line)
        last = next((i for i in range(last, len(lines)) if names[i] == "munmap"), last)
        # Addresses and the heap's growth differ between any two runs.
        return [name for name in names[last + 1:] if name not in ("brk", "mmap", "munmap")]


if __name__ == "__main__":
    unittest.main()
