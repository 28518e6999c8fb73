# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs under the preload, on the null driver."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from preload_case import BUILD, NULL, SHIM, PreloadCase  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLIENT = BUILD / "tests" / "shim_client"
OLD = BUILD / "olddriver"
FAULTS = ["refuse", "segment-version", "unsealed", "short-segment", "welcome-version", "no-fds", "silent", "hang-up"]


class PreloadTest(PreloadCase):
    def client(self, *arguments, **kinds):
        return self.succeed(CLIENT, *arguments, **kinds)

    # -- programs without CUDA ------------------------------------------------------------------------------

    def test_programs_without_cuda_get_no_socket_no_thread_and_no_driver(self):
        daemon = self.stand_in()
        look = ("import os; print(len(os.listdir('/proc/self/task')), sorted(os.listdir('/proc/self/fd')), "
                "'nulldriver' in open('/proc/self/maps').read(), 'libgacer' in open('/proc/self/maps').read())")
        bare = self.run_program(sys.executable, "-c", look, preload=None).stdout.split()
        seen = self.run_program(sys.executable, "-c", look)
        self.assertEqual(seen.stdout.split()[:-2], bare[:-2])
        self.assertEqual(seen.stdout.split()[-2:], ["False", "True"])
        self.assertEqual(seen.stderr, "")
        for command in (["bash", "-c", "true"], [sys.executable, "-c", "1"], ["/bin/ls", "/"]):
            ran = self.run_program(*command)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), command)
        self.assertFalse(self.trace.exists())
        self.assertEqual(daemon.end()["welcomed"], 0)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_programs_without_cuda_make_no_system_call_beyond_loading(self):
        def calls(preload):
            log = self.folder / "strace"
            command = ["strace", "-f", "-o", str(log), "-E", f"LD_PRELOAD={preload}", "bash", "-c", "true"]
            ran = subprocess.run(command, env=self.environment(preload=None), capture_output=True, text=True,
                                 timeout=60)
            if ran.returncode != 0:
                self.skipTest("strace may not trace here")
            names = [line.split(maxsplit=1)[1].split("(")[0] for line in log.read_text().splitlines() if "(" in line]
            return {name: names.count(name) for name in names}

        empty, shim = calls(""), calls(SHIM)
        for name in ("socket", "connect", "clone", "clone3", "futex", "memfd_create", "execve", "ioctl"):
            self.assertEqual(shim.get(name, 0), empty.get(name, 0), name)

    # -- pass-through -----------------------------------------------------------------------------------------

    def test_a_linked_program_works_without_a_daemon_and_all_launches_arrive(self):
        self.client("launch", 500)
        self.assertEqual(self.launches_in_driver(), 500)

    def test_a_socket_nobody_named_is_not_worth_a_line(self):
        environment = {"GACER_SOCKET": "", "XDG_RUNTIME_DIR": str(self.folder)}
        self.assertEqual(self.client("launch", **environment).stderr, "")

    def test_no_daemon_at_a_named_socket_is_one_line(self):
        self.assert_one_line(self.client("launch"), self.socket)

    def test_a_stale_socket_is_one_line_and_launches_pass(self):
        self.stand_in().kill()
        self.assertTrue(os.path.exists(self.socket))
        self.assert_one_line(self.client("launch", 300), self.socket)
        self.assertEqual(self.launches_in_driver(), 300)

    def test_a_file_in_the_sockets_place_is_one_line(self):
        pathlib.Path(self.socket).write_text("not a socket")
        self.assert_one_line(self.client("launch"), self.socket)

    def test_each_fault_of_a_daemon_is_one_line_and_launches_pass(self):
        for fault in FAULTS:
            with self.subTest(fault=fault):
                self.trace.unlink(missing_ok=True)
                daemon = self.stand_in("--fault", fault)
                self.assert_one_line(self.client("launch", 300), "")
                daemon.end()
                self.assertEqual(self.launches_in_driver(), 300)

    def test_a_version_mismatch_names_both_versions(self):
        daemon = self.stand_in("--fault", "segment-version")
        version = re.search(r"kAbiVersion = (\d+)", (ROOT / "runtime" / "abi" / "version.h").read_text()).group(1)
        self.assert_one_line(self.client("launch"), str(int(version) + 41), f"speaks {version}")
        daemon.end()

    def test_a_refusal_is_told_in_the_daemons_words(self):
        daemon = self.stand_in("--fault", "refuse")
        self.assert_one_line(self.client("launch"), "no room for another tenant")
        daemon.end()

    def test_unusable_settings_are_one_line_that_names_them(self):
        daemon = self.stand_in()
        self.assert_one_line(self.client("launch", GACER_MEM="much", GACER_CLASS="fast"), "GACER_MEM", "GACER_CLASS")
        self.assertEqual(daemon.end()["welcomed"], 1)

    def assert_one_line(self, ran, *parts):
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        self.assertTrue(ran.stderr.startswith("gacer: warn: "), ran.stderr)
        for part in parts:
            self.assertIn(part, ran.stderr)

    # -- attached ---------------------------------------------------------------------------------------------

    def test_launches_are_counted_and_recorded(self):
        daemon = self.stand_in("--mode", "window", "--window", "1000000000", "--record", "--mark", "4")
        self.client("launch", 500, GACER_TENANT="web")
        seen = daemon.end()
        client = seen["clients"][0]
        self.assertEqual(client["tenant"], "web")
        self.assertEqual(client["launches"], 500)
        self.assertEqual(client["kernel_records"] + client["dropped"], 500)
        self.assertEqual((client["unregulated"], client["deadline_releases"]), (0, 0))

    def test_a_driver_without_host_registration_is_regulated_by_events(self):
        daemon = self.stand_in("--mode", "window", "--window", "3000", "--record", "--mark", "1")
        self.client("launch", 500, NULLCUDA_REFUSE="register")
        client = daemon.end()["clients"][0]
        self.assertEqual(client["launches"], 500)
        self.assertEqual(client["deadline_releases"], 0)

    def test_a_closed_gate_holds_each_launch_for_its_bound(self):
        daemon = self.stand_in("--mode", "closed", "--max-wait", "3000000")
        self.client("launch", 5)
        client = daemon.end()["clients"][0]
        self.assertEqual((client["waits"], client["deadline_releases"]), (5, 5))

    def test_a_killed_daemon_releases_a_held_launch(self):
        daemon = self.stand_in("--mode", "closed", "--max-wait", "9000000000")
        program = subprocess.Popen([CLIENT, "launch", "5"], env=self.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        while "cuInit" not in (self.trace.read_text() if self.trace.exists() else ""):
            pass
        daemon.kill()
        self.assertEqual(program.wait(timeout=60), 0)
        program.stdout.close()
        self.assertEqual(self.launches_in_driver(), 5)

    def test_a_program_that_uses_cuda_in_its_child_only_attaches_there(self):
        daemon = self.stand_in()
        self.client("child-only", 50)
        seen = daemon.end()
        self.assertEqual(seen["welcomed"], 1)
        self.assertEqual(seen["clients"][0]["launches"], 50)

    def test_a_forked_child_attaches_by_itself(self):
        daemon = self.stand_in()
        self.client("child-too", 50)
        seen = daemon.end()
        self.assertEqual([client["launches"] for client in seen["clients"]], [50, 50])
        self.assertTrue(all(client["gone"] for client in seen["clients"]))

    def test_threads_launch_side_by_side(self):
        daemon = self.stand_in("--mode", "window", "--window", "50000", "--record", "--mark", "2")
        self.client("threads", 300)
        client = daemon.end()["clients"][0]
        self.assertAlmostEqual(client["launches"], 1200, delta=4)
        self.assertEqual(client["deadline_releases"], 0)

    def test_two_processes_never_exceed_their_tenants_memory_together(self):
        daemon = self.stand_in("--mem", "1000")
        command = [CLIENT, "memory", "2000"]
        programs = [subprocess.Popen(command, env=self.environment(GACER_TENANT="pair"), stdout=subprocess.PIPE,
                                     text=True) for _ in range(2)]
        for program in programs:
            out, _ = program.communicate(timeout=120)
            self.assertEqual(program.returncode, 0, out)
        self.assertEqual(daemon.end()["memory_used"], 0)

    # -- loading ----------------------------------------------------------------------------------------------

    def test_every_spelling_of_the_driver_means_the_shim(self):
        code = ("import ctypes\n"
                "def where(lib):\n"
                "  f = ctypes.cast(lib.cuLaunchKernel, ctypes.c_void_p).value\n"
                "  for line in open('/proc/self/maps'):\n"
                "    a, b = line.split()[0].split('-')\n"
                "    if int(a, 16) <= f < int(b, 16): return line.split('/')[-1].strip()\n"
                f"for name in ['libcuda.so', 'libcuda.so.1', '{NULL}/libcuda.so.1', None]:\n"
                "  print(where(ctypes.CDLL(name)))\n")
        ran = self.run_program(sys.executable, "-c", code)
        self.assertEqual(ran.stdout.split(), ["libgacer.so"] * 4, ran.stderr)

    def test_other_libraries_open_as_their_program_asked(self):
        ran = self.run_program(BUILD / "tests" / "shim_plugin_host")
        self.assertEqual((ran.returncode, ran.stdout), (0, ""))

    def test_lookups_answer_the_shim_in_the_right_variant(self):
        where = dict(line.split() for line in self.client("lookups").stdout.splitlines())
        self.assertEqual(len(where), 7)
        self.assertEqual(set(where.values()), {"libgacer.so"})

    def test_forwarders_pass_all_arguments_on(self):
        self.client("forwarded")

    def test_an_older_driver_is_missing_what_it_is_missing(self):
        self.client("missing", driver=OLD)

    def test_without_a_driver_calls_answer_no_device_after_one_line(self):
        empty = self.folder / "empty"
        empty.mkdir()
        ran = self.client("no-device", driver=empty, GACER_REAL_LIBCUDA=str(empty / "libcuda.so.1"))
        self.assert_one_line(ran, "GACER_REAL_LIBCUDA")

    def test_a_second_shim_is_never_taken_for_the_driver(self):
        copy = self.folder / "libcuda.so.1"
        shutil.copy(SHIM, copy)
        self.client("no-device", driver=self.folder, GACER_REAL_LIBCUDA=str(copy))
        self.client("launch", GACER_REAL_LIBCUDA=str(NULL / "libcuda.so.1"), preload=f"{SHIM}:{copy}")
        self.assertEqual(self.launches_in_driver(), 100)

    def test_a_path_with_spaces_can_be_preloaded_by_its_folder(self):
        folder = self.folder / "a b"
        folder.mkdir()
        (folder / "libgacer.so").symlink_to(SHIM)
        ran = self.client("launch", driver=NULL, preload="libgacer.so",
                          LD_LIBRARY_PATH=f"{folder}:{NULL}")
        self.assertNotIn("cannot be preloaded", ran.stderr)


if __name__ == "__main__":
    unittest.main()
