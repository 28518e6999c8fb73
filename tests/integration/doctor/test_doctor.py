# SPDX-License-Identifier: Apache-2.0
"""gacer doctor: what it says about programs, drivers, sockets and MPS, and the exit code that follows."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

from case import BUILD, HERE, LIMIT_S, PYTHON, SHIM, DoctorCase

REGULATED, UNREGULATED, UNKNOWN = 0, 1, 2
LINE = re.compile(r"(ok|warn|fail) +([a-z0-9-]+): (.*)")
HOOKS = pathlib.Path(__file__).resolve().parents[3] / "interpose" / "hooks"
LOOKUPS = {"lookup-link", "lookup-dlopen", "lookup-default", "lookup-next", "lookup-dlvsym", "lookup-proc-v1",
           "lookup-proc-v2"}


class Doctor(DoctorCase):
    def doctor(self, *words, expect=None, **kinds):
        """The checks by name: (level, text)."""
        answer = self.gacer("doctor", *words, **kinds)
        if expect is not None:
            self.assertEqual(answer.returncode, expect, answer.stdout + answer.stderr)
        checks = {}
        for line in answer.stdout.splitlines():
            match = LINE.fullmatch(line)
            self.assertIsNotNone(match, line)
            checks[match[2]] = (match[1], match[3])
        return checks

    def assert_check(self, checks, name, level, *parts):
        self.assertIn(name, checks)
        self.assertEqual(checks[name][0], level, checks[name])
        for part in parts:
            self.assertIn(str(part), checks[name][1])


class Lookups(Doctor):
    def test_SYM_16_every_way_to_the_driver_is_answered_by_the_shim(self):
        self.driver()
        checks = self.doctor("--", PYTHON, expect=REGULATED)
        self.assertLessEqual(LOOKUPS, set(checks))
        self.assertEqual([name for name in checks if checks[name][0] == "fail"], [])
        for name in ("lookup-link", "lookup-dlopen", "lookup-proc-v1", "lookup-proc-v2"):
            right, asked = map(int, re.search(r"(\d+) of (\d+)", checks[name][1]).groups())
            self.assertEqual(right, asked)
            self.assertGreater(asked, 90)

    def test_SYM_03_an_older_drivers_gaps_are_no_failure(self):
        for name in ("olddriver", "onelookup", "nolookup"):
            with self.subTest(name):
                self.driver(name)
                self.doctor("--", PYTHON, expect=REGULATED)

    def test_STR_03_launch_functions_that_the_shim_lacks_are_named(self):
        self.driver("newdriver")
        checks = self.doctor("--", PYTHON, expect=UNREGULATED)
        self.assert_check(checks, "driver-exports", "fail", "cuLaunchFuture", "newer gacer")

    def test_STR_03_every_launch_of_the_driver_has_a_row_and_only_host_functions_pass_through(self):
        rows = dict((symbol, kind) for part in HOOKS.glob("*.def")
                    for kind, symbol in re.findall(r"^GACER_(HOOK|FORWARD)\((\w+),", part.read_text(), re.MULTILINE))
        listing = subprocess.run(["nm", "-D", "--defined-only", BUILD / "nulldriver" / "libcuda.so.1"], check=True,
                                 capture_output=True, text=True).stdout
        launches = [name for name in re.findall(r"\b(cu\w+)$", listing, re.MULTILINE)
                    if "Launch" in name and "Attribute" not in name]
        self.assertGreater(len(launches), 10)
        passing = {name for name in launches if rows.get(name) != "HOOK"}
        self.assertEqual({name for name in passing if "HostFunc" not in name}, set())

    def test_a_program_in_whose_environment_another_library_answers_fails(self):
        self.driver()
        checks = self.doctor("--", PYTHON, expect=UNREGULATED, LD_PRELOAD=str(BUILD / "nulldriver" / "libcuda.so.1"),
                             GACER_SHIM=str(HERE / "libdoctor_other_shim.so"))
        self.assert_check(checks, "preload", "fail", "version")
        self.assert_check(checks, "lookup-dlopen", "fail", "nulldriver/libcuda.so.1")

    def test_SYM_02_every_answer_is_told_with_its_object_and_variant(self):
        self.driver()
        document = json.loads(self.gacer("doctor", "--json", "--answers", "--", PYTHON).stdout)
        answers = {(a["way"], a["name"], a["cuda"], a["stream"]): (a["object"], a["variant"])
                   for a in document["answers"]}
        for api in ("proc-v1", "proc-v2"):
            self.assertEqual(answers[api, "cuLaunchKernel", "12.4", "per-thread"],
                             (str(SHIM), "cuLaunchKernel_ptsz"))
            self.assertEqual(answers[api, "cuLaunchKernel", "11.3", "legacy"], (str(SHIM), "cuLaunchKernel"))
        self.assertEqual(answers["link", "cuMemAlloc_v2", "", ""], (str(SHIM), "cuMemAlloc_v2"))
        lines = self.gacer("doctor", "--answers", "--", PYTHON).stdout
        self.assertRegex(lines, rf"handle +cuMemAlloc_v2 +cuMemAlloc_v2 +{SHIM}\n")

    def test_the_document_says_the_same_as_the_lines(self):
        self.driver()
        checks = self.doctor("--", PYTHON, expect=REGULATED)
        document = json.loads(self.gacer("doctor", "--json", "--", PYTHON).stdout)
        self.assertEqual({c["name"]: (c["level"], c["text"]) for c in document["checks"]}, checks)
        self.assertEqual((document["exit_code"], document["command"]), (REGULATED, [PYTHON]))


class Programs(Doctor):
    def program(self, path, *parts, level="fail", expect=UNREGULATED):
        self.assert_check(self.doctor("--", path, expect=expect), "program", level, *parts)

    def test_static_setuid_and_foreign_programs_fail_and_say_why(self):
        self.program(HERE / "doctor_static", "doctor_static", "statically linked")
        self.program(self.patched("/bin/true", "arm", 18, b"\xb7\x00"), "aarch64", "x86-64")
        self.program(self.patched("/bin/true", "small", 4, b"\x01"), "32-bit")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give a file away")
    def test_a_setuid_program_fails(self):
        path = self.copy("/bin/true", "setuid")
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
        self.program(path, "gains privileges", "ignores LD_PRELOAD")

    @unittest.skipUnless((HERE / "doctor_musl").exists(), "no musl-gcc here")
    def test_CON_14_a_musl_program_fails(self):
        self.program(HERE / "doctor_musl", "musl", "GNU C library")

    def test_scripts_are_looked_through(self):
        script = self.folder / "tool"
        script.write_text(f"#!/usr/bin/env -S {PYTHON} -u\n")
        script.chmod(0o755)
        self.program(script, script, PYTHON, level="ok", expect=REGULATED)
        script.write_text(f"#!{HERE / 'doctor_static'}\n")
        self.program(script, "statically linked")

    def test_what_is_not_there_could_not_be_checked(self):
        self.program("no-such-program", "No such file", expect=UNKNOWN)
        script = self.folder / "tool"
        script.write_text("#!/nonexistent/interpreter\n")
        script.chmod(0o755)
        self.program(script, "/nonexistent/interpreter", expect=UNKNOWN)
        self.assertEqual(self.gacer("doctor", "--bogus").returncode, UNKNOWN)

    def test_the_command_does_not_run(self):
        self.driver()
        witness = self.folder / "witness"
        self.doctor("--", "/bin/touch", witness, expect=REGULATED)
        self.assertFalse(witness.exists())

    def test_SYM_12_needed_and_available_glibc_are_told(self):
        text = self.doctor("--", PYTHON, expect=REGULATED)["glibc"][1]
        needed, available = re.search(r"GLIBC_2\.(\d+).* 2\.(\d+)", text).groups()
        self.assertLessEqual(int(needed), int(available))

    def test_SYM_12_a_shim_that_needs_a_newer_glibc_fails_with_both_versions(self):
        newer = self.newer_shim()
        checks = self.doctor("--", PYTHON, expect=UNREGULATED, GACER_SHIM=str(newer))
        self.assert_check(checks, "glibc", "fail", "GLIBC_2.99", "the command has 2.")

    def test_CON_05_a_shim_that_is_none_fails(self):
        broken = self.folder / "libgacer.so"
        broken.write_text("not a library")
        self.assert_check(self.doctor("--", PYTHON, expect=UNREGULATED, GACER_SHIM=str(broken)), "shim", "fail", broken)
        self.assert_check(self.doctor("--", PYTHON, expect=UNREGULATED, GACER_SHIM="/nonexistent/x.so"), "shim",
                          "fail", "/nonexistent/x.so")


class Drivers(Doctor):
    def test_no_driver_is_a_warning(self):
        self.assert_check(self.doctor("--", PYTHON, expect=REGULATED), "driver", "warn", "no device")

    def test_SYM_18_the_driver_that_the_program_brings_is_found(self):
        shutil.copytree(HERE, self.folder / "app")
        own = self.folder / "app" / "own"
        own.mkdir()
        shutil.copy(BUILD / "olddriver" / "libcuda.so.1", own)
        checks = self.doctor("--", self.folder / "app" / "doctor_linked", expect=REGULATED)
        self.assert_check(checks, "driver-path", "ok", own)
        self.assert_check(checks, "driver", "ok", own)
        checks = self.doctor("--", self.folder / "app" / "doctor_linked", expect=REGULATED,
                             GACER_REAL_LIBCUDA=str(BUILD / "nulldriver" / "libcuda.so.1"))
        self.assert_check(checks, "driver-path", "warn", own, "GACER_REAL_LIBCUDA")

    def test_the_gpu_is_touched_only_when_asked(self):
        self.driver()
        trace = self.folder / "trace"
        self.doctor("--", PYTHON, expect=REGULATED, NULLCUDA_TRACE=str(trace))
        self.assertNotIn("cuInit", trace.read_text())
        checks = self.doctor("--gpu", "--", PYTHON, expect=REGULATED, NULLCUDA_TRACE=str(trace))
        self.assertIn("cuInit", trace.read_text())
        self.assertIn("gpu", checks)

    def test_CON_16_devices_and_compute_modes_are_told_on_the_simulated_device(self):
        self.environment.update(LD_LIBRARY_PATH=str(BUILD / "sim"), SIMGPU_DIR=str(self.folder / "sim"))
        if not (BUILD / "sim" / "libcuda.so.1").exists():
            self.skipTest("the simulated device is not built")
        self.assert_check(self.doctor("--gpu", "--", PYTHON, expect=REGULATED), "gpu", "ok", "compute mode default")


class Sockets(Doctor):
    def test_a_daemon_that_serves_us_is_told_with_its_policy(self):
        daemon = self.start_daemon("--policy", "timeslice")
        checks = self.doctor("--", PYTHON)
        self.assert_check(checks, "socket", "ok", self.socket)
        self.assert_check(checks, "daemon", "ok", f"pid {daemon.pid}")
        self.assert_check(checks, "daemon-version", "ok", "timeslice")

    def test_no_daemon_yet_is_a_warning(self):
        self.assert_check(self.doctor("--", PYTHON, expect=REGULATED), "socket", "warn", self.socket, "gacer run")

    def test_a_left_over_socket_is_a_warning(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left_over:
            left_over.bind(str(self.socket))
        self.assert_check(self.doctor("--", PYTHON, expect=REGULATED), "daemon", "warn", "no gacerd answers")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_CON_10_the_first_component_that_blocks_is_named(self):
        private = self.folder / "private"
        (private / "open").mkdir(parents=True)
        private.chmod(0o700)
        (private / "open").chmod(0o777)
        checks = self.doctor("--socket", private / "open" / "g.sock", "--", "/bin/sh", user=65534)
        self.assert_check(checks, "socket", "fail", f"{private}:", "uid 65534")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_CON_02_a_daemon_of_another_user_is_told(self):
        self.start_daemon()
        self.socket.chmod(0o777)
        checks = self.doctor("--", "/bin/sh", user=65534, expect=UNREGULATED)
        self.assert_check(checks, "daemon", "fail", "uid 0", "uid 65534")


class Mps(Doctor):
    def test_without_mps_it_says_that_processes_do_not_overlap(self):
        self.assert_check(self.doctor(), "mps", "warn", "off", "do not overlap", "nvidia-cuda-mps-control -d")

    def test_with_mps_it_says_on(self):
        control = BUILD / "sim" / "nvidia-cuda-mps-control"
        if not control.exists():
            self.skipTest("the stand-in for MPS is not built")
        subprocess.run([control, "-d"], env=self.environment, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL)
        self.addCleanup(subprocess.run, [control], env=self.environment, input="quit\n", text=True, timeout=LIMIT_S,
                        stdout=subprocess.DEVNULL)
        self.assert_check(self.doctor(), "mps", "ok", self.folder / "mps")

    def test_a_pipe_that_nobody_reads_is_off(self):
        (self.folder / "mps").mkdir()
        os.mkfifo(self.folder / "mps" / "control")
        self.assert_check(self.doctor(), "mps", "warn", "off")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give a file away")
    def test_CON_11_mps_of_another_user_is_told(self):
        control = self.folder / "mps" / "control"
        control.parent.mkdir()
        os.mkfifo(control)
        reader = os.open(control, os.O_RDWR)
        self.addCleanup(os.close, reader)
        self.assert_check(self.doctor(), "mps", "ok", control, "one user at a time")
        os.chown(control, 65534, 65534)
        self.assert_check(self.doctor(), "mps", "warn", "uid 65534 only", "wait without a message")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_CON_10_a_pipe_folder_that_only_root_may_enter_is_named(self):
        (self.folder / "mps").mkdir(mode=0o700)
        os.mkfifo(self.folder / "mps" / "control")
        self.assert_check(self.doctor("--", "/bin/sh", user=65534), "mps", "warn", self.folder / "mps", "uid 65534")


if __name__ == "__main__":
    unittest.main()
