# SPDX-License-Identifier: Apache-2.0
"""Bad input to the commands: one clear error each, and nothing else happens."""
import pathlib
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from stage import BUILD, Stage, wait_for  # noqa: E402


class BadInputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = Stage(mps=False)
        cls.addClassCleanup(cls.stage.close)

    def assert_one_error(self, process, code, *parts):
        self.assertEqual(process.wait(), code, process.text())
        lines = [line for line in process.text().splitlines() if line]
        self.assertEqual(len(lines), 1, process.text())
        for part in parts:
            self.assertIn(part, lines[0])

    def test_unknown_model(self):
        self.assert_one_error(self.stage.model("resnet51"), 2, "unknown model 'resnet51'", "resnet50")

    def test_bad_arrival(self):
        self.assert_one_error(self.stage.model("lstm", "--arrival", "poisson:fast"), 2, "poisson")

    def test_unknown_device(self):
        process = self.stage.model("lstm", "--tiny", "--requests", "1", SIMGPU_DEVICE="A1000",
                                   SIMGPU_DIR=str(self.stage.folder / "sim2"))
        self.assertEqual(process.wait(), 1)
        self.assertIn("A1000", process.text())
        self.assertIn("A100", process.text())

    def test_no_daemon(self):
        answer = self.stage.gacer("status", "--socket", self.stage.folder / "nobody.sock")
        self.assertEqual(answer.returncode, 3)
        self.assertEqual(len(answer.stderr.strip().splitlines()), 1, answer.stderr)
        self.assertIn("nobody.sock", answer.stderr)

    def test_command_not_found(self):
        answer = self.stage.gacer("run", "--no-daemon", "--socket", self.stage.socket, "--", "no-such-program")
        self.assertEqual(answer.returncode, 127)
        self.assertIn("no-such-program", answer.stderr)

    def test_bad_class_and_size(self):
        for option, value in (("--class", "urgent"), ("--mem", "12Q"), ("--weight", "0")):
            answer = self.stage.gacer("run", "--no-daemon", option, value, "--", "true")
            self.assertEqual(answer.returncode, 125, answer.stderr)
            self.assertIn(value, answer.stderr)

    def test_a_foreign_socket_leaves_the_program_unregulated_with_one_line(self):
        # Given: somebody else listens at the path and hangs up on everyone
        path = self.stage.folder / "foreign.sock"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as foreign:
            foreign.bind(str(path))
            foreign.listen(8)
            foreign.setblocking(False)
            process = self.stage.model("lstm", "--tiny", "--requests", "2", "--checksum",
                                       LD_PRELOAD=str(BUILD / "lib" / "libgacer.so"), GACER_SOCKET=str(path))

            def hang_up_until_done():
                try:
                    connection, _ = foreign.accept()
                    connection.send(b"this is not gacerd")
                    connection.close()
                except BlockingIOError:
                    pass
                return not process.alive()
            wait_for(hang_up_until_done, f"the program ends: {process.text()}")
        # Then it computed, and said what is wrong in one line
        self.assertEqual(process.wait(), 0, process.text())
        self.assertIn("checksum", process.text())
        self.assertEqual(process.text().count("gacer:"), 1, process.text())


class TuneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = Stage(mps=False)
        cls.addClassCleanup(cls.stage.close)
        cls.stage.start_daemon()

    def tune(self, *settings):
        return self.stage.gacer("tune", "--socket", self.stage.socket, *settings)

    def knob(self, key):
        return next(k["value"] for k in self.stage.try_status()["knobs"] if k["key"] == key)

    def test_a_valid_setting_applies_live(self):
        self.assertEqual(self.tune("window_us=700").returncode, 0)
        self.assertEqual(str(self.knob("window_us")), "700")

    def test_a_bad_setting_changes_nothing(self):
        before = self.knob("max_wait_ms")
        for setting, hint in (("no_such_key=1", "window_us"), ("max_wait_ms=-3", "max_wait_ms"), ("max_wait_ms", "KEY=VALUE")):
            answer = self.tune(setting)
            self.assertNotEqual(answer.returncode, 0)
            self.assertIn(hint, answer.stderr)
            self.assertEqual(len(answer.stderr.strip().splitlines()), 1, answer.stderr)
        self.assertEqual(self.knob("max_wait_ms"), before)

    def test_a_second_daemon_is_refused(self):
        second = self.stage.start(BUILD / "bin" / "gacerd", "--socket", self.stage.socket)
        self.assertNotEqual(second.wait(), 0)
        self.assertIn(str(self.stage.socket), second.text())
        self.assertIsNotNone(self.stage.try_status())


if __name__ == "__main__":
    unittest.main()
