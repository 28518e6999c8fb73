# SPDX-License-Identifier: Apache-2.0
"""gacer run: what it refuses to start, what it passes on, and whom it watches."""
import os
import pathlib
import signal
import socket
import struct
import textwrap
import threading
import unittest

from case import BUILD, HERE, PYTHON, SHIM, DoctorCase, wait_for

OK, FAILED, NOT_EXECUTABLE, NOT_FOUND = 0, 125, 126, 127
BEST_EFFORT = "--best-effort"
# Opens the driver as frameworks do, tells so, and stays.
CUDA_USER = "import ctypes, time; ctypes.CDLL('libcuda.so.1').cuInit(0); print('in use', flush=True); time.sleep(600)"


class Run(DoctorCase):
    def run_command(self, *words, **kinds):
        return self.gacer("run", "--no-daemon", *words, **kinds)

    def assert_refused(self, answer, *parts):
        self.assertEqual(answer.returncode, FAILED, answer.stdout + answer.stderr)
        self.assertEqual((answer.stdout, answer.stderr.count("\n")), ("", 1), answer.stderr)
        for part in (*parts, "unregulated", BEST_EFFORT):
            self.assertIn(str(part), answer.stderr)


class Refusals(Run):
    def refuse_unless_best_effort(self, command, *parts, **kinds):
        self.assert_refused(self.run_command("--", *command, **kinds), *parts)
        answer = self.run_command(BEST_EFFORT, "--", *command, **kinds)
        self.assertEqual(answer.returncode, OK, answer.stderr)
        self.assertIn("warning", answer.stderr)
        return answer

    def test_a_static_program_is_refused(self):
        answer = self.refuse_unless_best_effort([HERE / "doctor_static"], "statically linked")
        self.assertEqual(answer.stdout, "hello\n")

    @unittest.skipUnless((HERE / "doctor_musl").exists() and pathlib.Path("/lib/ld-musl-x86_64.so.1").exists(),
                         "no musl here")
    def test_CON_14_a_musl_program_is_refused_and_works_with_best_effort(self):
        answer = self.refuse_unless_best_effort([HERE / "doctor_musl"], "musl")
        self.assertEqual(answer.stdout, "hello\n")

    def test_another_machines_program_is_refused(self):
        program = self.patched("/bin/true", "arm", 18, b"\xb7\x00")
        self.assert_refused(self.run_command("--", program), "aarch64")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give a file away")
    def test_a_setuid_program_is_refused(self):
        program = self.copy("/bin/true", "setuid")
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        self.refuse_unless_best_effort([program], "gains privileges")

    def test_CON_05_a_missing_or_broken_shim_is_refused(self):
        broken = self.folder / "libgacer.so"
        broken.write_text("not a library")
        self.refuse_unless_best_effort(["true"], broken, GACER_SHIM=str(broken))
        self.refuse_unless_best_effort(["true"], "/nonexistent/x.so", GACER_SHIM="/nonexistent/x.so")
        self.refuse_unless_best_effort(["true"], "not the shim", GACER_SHIM="/lib/x86_64-linux-gnu/libm.so.6")

    def test_SYM_12_a_shim_that_needs_a_newer_glibc_is_refused(self):
        self.refuse_unless_best_effort(["true"], "GLIBC_2.99", "this system has 2.", GACER_SHIM=str(self.newer_shim()))

    def test_a_shim_of_another_release_is_refused(self):
        other = HERE / "libdoctor_other_shim.so"
        self.refuse_unless_best_effort(["true"], other, "version 1000", "one release", GACER_SHIM=str(other))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_CON_10_a_socket_that_cannot_be_reached_is_refused(self):
        private = self.folder / "private"
        private.mkdir(mode=0o700)
        self.assert_refused(self.run_command("--socket", private / "g.sock", "--", "/bin/true", user=65534),
                            f"{private}:")

    def test_CON_01_a_folder_in_which_gacerd_cannot_be_is_refused_at_once(self):
        (self.folder / "file").write_text("no folder")
        for place in (self.folder / "file" / "g.sock", pathlib.Path("/proc/g.sock"), self.folder / "no" / "such" / "g.sock"):
            with self.subTest(place):
                self.assert_refused(self.gacer("run", "--socket", place, "--", "true"), place.parent)
                self.assertEqual(self.gacer("run", BEST_EFFORT, "--socket", place, "--", "true").returncode, OK)

    def test_a_daemon_of_another_version_is_refused(self):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(server.close)
        server.bind(str(self.socket))
        server.listen()
        text = b"protocol version 2 met, this program speaks 99: install one release"
        refused = struct.pack("<IIHHIII240s", 0x43524347, 99, 3, 0, 264, 99, 71, text)

        def answer():
            try:
                while True:
                    peer, _ = server.accept()
                    peer.recv(4096)
                    peer.send(refused)
                    peer.close()
            except OSError:
                pass
        threading.Thread(target=answer, daemon=True).start()
        self.assert_refused(self.run_command("--", "true"), "speaks 99")
        self.assertEqual(self.run_command(BEST_EFFORT, "--", "true").returncode, OK)

    def test_what_is_not_there_or_not_executable_has_the_usual_codes(self):
        self.assertEqual(self.run_command("--", "no-such-program").returncode, NOT_FOUND)
        plain = self.copy("/bin/true", "plain", 0o644)
        self.assertEqual(self.run_command("--", plain).returncode, NOT_EXECUTABLE)
        self.assertEqual(self.gacer("run", "--bogus").returncode, FAILED)
        self.assertFalse(self.socket.exists())


class Passing(Run):
    def test_code_and_signal_are_the_programs_own(self):
        self.assertEqual(self.run_command("--", "sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(self.run_command("--", "sh", "-c", "kill -SEGV $$").returncode, -signal.SIGSEGV)

    def test_it_is_the_process_that_was_started_and_has_no_child(self):
        script = "import os; print(os.getpid())\ntry: os.waitpid(-1, 0)\nexcept ChildProcessError: print('none')"
        process = self.start(BUILD / "bin" / "gacer", "run", "--no-daemon", "--", PYTHON, "-c", script)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(out.split(), [str(process.pid), "none"])

    def test_the_users_preloads_stay_behind_ours(self):
        answer = self.run_command("--", "env", LD_PRELOAD=str(HERE / "libdoctor_other_shim.so"))
        self.assertIn(f"LD_PRELOAD={SHIM}:{HERE / 'libdoctor_other_shim.so'}\n", answer.stdout)


class Watching(Run):
    def launch(self, *command, options=()):
        self.driver()
        return self.start(BUILD / "bin" / "gacer", "run", "--name", "some tenant", "--no-daemon", *options, "--",
                          *command)

    def assert_flagged(self, process):
        line = ""
        while "not managed" not in line:
            line = process.stderr.readline()
            self.assertNotEqual(line, "", "the program ended without a word about its child")
        self.assertRegex(line, r"gacer run: process \d+ \(.*python.*\) uses CUDA but is not managed")
        return int(line.split()[3])

    def shell(self, environment):
        return ["sh", "-c", f"{environment} {PYTHON} -c \"$0\"; echo ended $?", CUDA_USER]

    def test_SYM_17_a_launcher_that_unsets_the_preload_is_flagged(self):
        self.start_daemon()
        process = self.launch(*self.shell("env -u LD_PRELOAD"))
        pid = self.assert_flagged(process)
        shown = wait_for(lambda: self.status()["unmanaged"], "gacerd knows of it")
        self.assertEqual([(row["pid"], row["tenant"]) for row in shown], [(pid, "some tenant")])
        self.assertIn(f"{pid}", self.gacer("status").stdout)
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not self.status()["unmanaged"], "what has ended is not shown")

    def test_SYM_17_a_launcher_that_overwrites_the_preload_is_flagged(self):
        self.assert_flagged(self.launch(*self.shell("env LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6")))

    def test_SYM_17_a_launcher_that_starts_with_an_empty_environment_is_flagged(self):
        script = textwrap.dedent(f"""
            import os, sys
            os.execve({PYTHON!r}, [{PYTHON!r}, "-c", sys.argv[1]],
                      {{"LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]}})""")
        self.assert_flagged(self.launch(PYTHON, "-c", script, CUDA_USER))

    def test_CON_05_strict_ends_what_is_not_managed(self):
        process = self.launch(*self.shell("env -u LD_PRELOAD"), options=["--strict"])
        self.assert_flagged(process)
        self.assertIn("ended 137", process.communicate(timeout=60)[0])

    def test_a_managed_tree_is_not_flagged(self):
        # Under any name that leads to the shim.
        link = self.folder / "other-name.so"
        link.symlink_to(SHIM)
        self.environment["GACER_SHIM"] = str(link)
        process = self.launch(*self.shell("env"))
        self.assertEqual(process.stdout.readline(), "in use\n")
        # As long as it takes to flag one: a second tree beside it that is.
        self.assert_flagged(self.launch(*self.shell("env -u LD_PRELOAD")))
        os.killpg(process.pid, signal.SIGKILL)
        self.assertNotIn("not managed", process.stderr.read())

    def test_without_watching_nobody_looks(self):
        process = self.launch(*self.shell("env -u LD_PRELOAD"), options=["--no-watch"])
        self.assertEqual(process.stdout.readline(), "in use\n")
        names = [(pathlib.Path("/proc") / p / "comm") for p in os.listdir("/proc") if p.isdigit()]
        tree = {str(process.pid)}
        self.assertEqual([n for n in names if n.exists() and n.read_text() == "gacer-watch\n"
                          and self.watches(n.parent, tree)], [])

    @staticmethod
    def watches(folder, pids):
        try:
            return any(f"Pid:\t{pid}\n" in (folder / "fdinfo" / "3").read_text() for pid in pids)
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
