# SPDX-License-Identifier: Apache-2.0
"""gacerd and gacer as commands: start, refuse, run, tune, stop; one clear line for each mistake."""
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ.get("GACER_BUILD", "build/release")).resolve()
SHIM = os.environ["GACER_TEST_SHIM"]
LIMIT_S = 60
OK, USAGE, NO_DAEMON, REFUSED, RUN_FAILED = 0, 2, 3, 4, 125


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gacer-commands-"))
        self.socket = self.folder / "run" / "g.sock"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("GACER_") and k != "LD_PRELOAD"}
        self.environment.update(GACER_SHIM=SHIM, GACER_SOCKET=str(self.socket))
        self.daemons = []
        self.addCleanup(self.clean_up)

    def clean_up(self):
        self.gacer("stop")  # one that `gacer run` started
        for daemon in self.daemons:
            daemon.kill()
            daemon.wait(LIMIT_S)
            daemon.stderr.close()
        shutil.rmtree(self.folder)

    def gacer(self, *words, **environment):
        return subprocess.run([BUILD / "bin" / "gacer", *map(str, words)], env=dict(self.environment, **environment),
                              capture_output=True, text=True, timeout=LIMIT_S)

    def gacerd(self, *words):
        return subprocess.run([BUILD / "bin" / "gacerd", *map(str, words)], env=self.environment, capture_output=True,
                              text=True, timeout=LIMIT_S)

    def start_daemon(self, *words):
        daemon = subprocess.Popen([BUILD / "bin" / "gacerd", *map(str, words)], env=self.environment,
                                  stderr=subprocess.PIPE, text=True)
        self.daemons.append(daemon)
        deadline = time.monotonic() + LIMIT_S
        while self.gacer("status").returncode != OK:
            self.assertLess(time.monotonic(), deadline, "gacerd does not answer")
            time.sleep(0.02)
        return daemon

    def status(self):
        return json.loads(self.gacer("status", "--json").stdout)

    def assert_one_line(self, result, code, *parts):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in parts:
            self.assertIn(str(part), result.stderr)


class Daemon(CommandTest):
    def test_its_socket_and_folder_are_private(self):
        self.start_daemon()
        self.assertEqual(stat.S_IMODE(self.socket.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.socket.parent.stat().st_mode), 0o700)

    def test_a_second_one_is_refused(self):
        first = self.start_daemon()
        self.assert_one_line(self.gacerd(), REFUSED, "another gacerd", first.pid, self.socket)
        self.assertEqual(self.status()["pid"], first.pid)

    def test_a_killed_ones_socket_is_replaced(self):
        first = self.start_daemon()
        first.kill()
        first.wait(LIMIT_S)
        self.assertTrue(self.socket.exists())
        second = self.start_daemon()
        self.assertEqual(self.status()["pid"], second.pid)

    def test_a_path_that_is_no_socket_is_refused(self):
        self.socket.parent.mkdir()
        self.socket.write_text("precious")
        self.assert_one_line(self.gacerd(), REFUSED, self.socket, "not a socket")
        self.assertEqual(self.socket.read_text(), "precious")

    def test_a_foreign_socket_is_refused(self):
        self.socket.parent.mkdir()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as foreign:
            foreign.bind(str(self.socket))
            foreign.listen()
            self.assert_one_line(self.gacerd(), REFUSED, self.socket, "another program")
            self.assertEqual(self.gacer("status").returncode, NO_DAEMON)

    def test_bad_settings_are_refused_before_it_serves(self):
        self.assert_one_line(self.gacerd("--policy", "nope"), USAGE, "nope", "priority")
        self.assert_one_line(self.gacerd("--set", "window_us=x"), USAGE, "window_us", "10..1000000")
        self.assert_one_line(self.gacerd("--set", "window_us"), USAGE, "KEY=VALUE")
        self.assert_one_line(self.gacerd("--socket", "/x" * 100), REFUSED, "characters")
        self.assertEqual(self.gacerd("--bogus").returncode, USAGE)
        self.assertFalse(self.socket.exists())

    def test_settings_at_start_hold(self):
        self.start_daemon("--policy", "timeslice", "--set", "window_us=321", "--set", "quantum_ms=7")
        status = self.status()
        knobs = {knob["key"]: knob["value"] for knob in status["knobs"]}
        self.assertEqual((status["policy"], knobs["window_us"], knobs["quantum_ms"]), ("timeslice", "321", "7"))

    def test_sigterm_ends_it_in_order(self):
        pid_file = self.folder / "pid"
        daemon = self.start_daemon("--pid-file", pid_file)
        self.assertEqual(int(pid_file.read_text()), daemon.pid)
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(LIMIT_S), OK)
        self.assertFalse(self.socket.exists() or pid_file.exists())


class Tools(CommandTest):
    def test_without_a_daemon_they_say_so(self):
        for words in (["status"], ["tune"], ["tune", "window_us=5"], ["policy", "priority"], ["stop"]):
            self.assert_one_line(self.gacer(*words), NO_DAEMON, self.socket, "no gacerd")

    def test_usage_errors(self):
        self.assertEqual(self.gacer().returncode, USAGE)
        self.assert_one_line(self.gacer("fly"), USAGE, "fly")
        self.assert_one_line(self.gacer("status", "--fast"), USAGE, "--fast")
        self.assert_one_line(self.gacer("policy"), USAGE, "NAME")
        self.assert_one_line(self.gacer("tune", "window_us"), USAGE, "KEY=VALUE")
        self.assertEqual(self.gacer("--help").returncode, OK)
        for verb in ("run", "status", "tune", "policy", "stop"):
            answer = self.gacer(verb, "--help")
            self.assertEqual((answer.returncode, answer.stderr), (OK, ""))
            self.assertIn("--socket", answer.stdout)

    def test_tune_changes_a_running_daemon_or_says_what_is_legal(self):
        self.start_daemon()
        generation = self.status()["generation"]
        self.assertEqual(self.gacer("tune", "window_us=500", "quantum_ms=3").returncode, OK)
        listing = self.gacer("tune").stdout
        self.assertRegex(listing, r"window_us +500 +us +10\.\.1000000")
        self.assert_one_line(self.gacer("tune", "nope=1"), REFUSED, "nope", "window_us")
        self.assert_one_line(self.gacer("tune", "window_us=1"), REFUSED, "window_us", "'1'", "10..1000000")
        self.assertEqual(self.status()["generation"], generation + 2)

    def test_policy_changes_a_running_daemon(self):
        self.start_daemon()
        self.assertEqual(self.gacer("policy", "timeslice").returncode, OK)
        self.assertEqual(self.status()["policy"], "timeslice")
        self.assert_one_line(self.gacer("policy", "nope"), REFUSED, "nope", "timeslice")

    def test_stop_frees_the_path_before_it_returns(self):
        for _ in range(3):
            self.start_daemon()
            self.assertEqual(self.gacer("stop").returncode, OK)
            self.assertFalse(self.socket.exists())


class Run(CommandTest):
    def environment_of(self, *options, **environment):
        answer = self.gacer("run", *options, "--", "env", **environment)
        self.assertEqual(answer.returncode, OK, answer.stderr)
        return dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)

    def test_it_sets_what_the_shim_reads(self):
        seen = self.environment_of("--name", "bert", "--class", "latency", "--mem", "2G", "--weight", "3",
                                   "--priority", "-4", LD_PRELOAD=SHIM)
        self.assertEqual({name: seen[name] for name in seen if name in (
            "LD_PRELOAD", "GACER_SOCKET", "GACER_TENANT", "GACER_CLASS", "GACER_MEM", "GACER_WEIGHT",
            "GACER_PRIORITY")}, {
                "LD_PRELOAD": SHIM, "GACER_SOCKET": str(self.socket), "GACER_TENANT": "bert", "GACER_CLASS": "latency",
                "GACER_MEM": str(2 << 30), "GACER_WEIGHT": "3", "GACER_PRIORITY": "-4"})

    def test_without_a_quota_none_is_inherited(self):
        self.assertNotIn("GACER_MEM", self.environment_of(GACER_MEM="5"))

    def test_it_starts_a_daemon_that_holds_nothing_of_ours(self):
        # capture_output reads to the end of the pipe: a daemon that kept it open would hang this call
        answer = self.gacer("run", "--policy", "timeslice", "echo", "hello")
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (OK, "hello\n", ""))
        self.assertEqual(self.status()["policy"], "timeslice")
        folder = pathlib.Path("/proc") / str(self.status()["pid"]) / "fd"
        targets = [os.readlink(entry) for entry in folder.iterdir()]
        self.assertEqual([target for target in targets if target.startswith("pipe:")], [])

    def test_it_uses_the_daemon_that_is_there(self):
        daemon = self.start_daemon()
        self.assertEqual(self.gacer("run", "--policy", "timeslice", "true").returncode, OK)
        self.assertEqual((self.status()["pid"], self.status()["policy"]), (daemon.pid, "timeslice"))
        self.assert_one_line(self.gacer("run", "--policy", "nope", "true"), RUN_FAILED, "nope")

    def test_many_at_once_end_up_with_one_daemon(self):
        starts = [subprocess.Popen([BUILD / "bin" / "gacer", "run", "true"], env=self.environment,
                                   stderr=subprocess.PIPE, text=True) for _ in range(8)]
        for start in starts:
            _, errors = start.communicate(timeout=LIMIT_S)
            self.assertEqual((start.returncode, errors), (OK, ""))
        self.assertEqual(self.gacer("status").returncode, OK)

    def test_a_daemon_that_cannot_start_is_one_line(self):
        self.assert_one_line(self.gacer("run", "--policy", "nope", "true"), RUN_FAILED, "cannot start gacerd", "nope")
        self.assert_one_line(self.gacer("run", "true", GACER_DAEMON="/nonexistent"), RUN_FAILED, "/nonexistent")

    def test_no_daemon_is_honoured(self):
        answer = self.gacer("run", "--no-daemon", "echo", "hello")
        self.assertEqual((answer.returncode, answer.stdout), (OK, "hello\n"))
        self.assert_one_line(answer, OK, "unregulated")
        self.assertFalse(self.socket.exists())
        self.assert_one_line(self.gacer("run", "--no-daemon", "--policy", "priority", "true"), RUN_FAILED, "--policy")

    def test_the_programs_own_end_is_ours(self):
        self.start_daemon()
        self.assertEqual(self.gacer("run", "sh", "-c", "exit 9").returncode, 9)
        self.assertEqual(self.gacer("run", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assert_one_line(self.gacer("run", "no-such-program"), 127, "no-such-program", "No such file")
        self.assert_one_line(self.gacer("run", "/"), 126, "Permission denied")

    def test_bad_words_are_usage_errors(self):
        for words in ([], ["--bogus", "true"], ["--mem", "lots", "true"], ["--class", "best", "true"],
                      ["--weight", "0", "true"], ["--name", "", "true"]):
            self.assert_one_line(self.gacer("run", *words), RUN_FAILED)
        self.assertFalse(self.socket.exists())

    def test_a_shim_that_ld_preload_cannot_name_is_refused(self):
        for name in ("a b", "a:b"):
            shim = self.folder / name / "libgacer.so"
            shim.parent.mkdir()
            shutil.copy(SHIM, shim)
            self.assert_one_line(self.gacer("run", "true", GACER_SHIM=str(shim)), RUN_FAILED, shim, "LD_PRELOAD")
        self.assert_one_line(self.gacer("run", "true", GACER_SHIM="/nonexistent"), RUN_FAILED, "GACER_SHIM")


if __name__ == "__main__":
    unittest.main()
