# SPDX-License-Identifier: Apache-2.0
"""Captures and graphs of an unmodified, regulated program on the simulated device."""
import pathlib
import re
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from stage import BUILD, Stage, wait_for  # noqa: E402

CLIENT = BUILD / "tests" / "graph_client"
ENDLESS = ["--tiny", "--seconds", "600", "--seed", "3"]


class GraphsTest(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)

    def start_neighbour(self, name, tenant_class, model="bert-base"):
        """Another tenant, so that both are regulated; returns when it launches."""
        neighbour = self.stage.model(model, *ENDLESS, wrapper=self.stage.run_command(name, tenant_class))
        self.wait_launching(name, neighbour)
        return neighbour

    def launches(self, name):
        tenant = self.stage.tenant(name)
        return tenant["launches"] if tenant else 0

    def wait_launching(self, name, process):
        before = self.launches(name)
        wait_for(lambda: self.launches(name) > before + 20, f"{name} launches: {process.text()}")

    def client(self, *arguments, name="graphs"):
        process = self.stage.start(*self.stage.run_command(name, "batch"), CLIENT, *map(str, arguments))
        self.assertEqual(process.wait(), 0, process.text())
        return process.text()

    def bare(self, *arguments):
        process = self.stage.start(CLIENT, *map(str, arguments))
        self.assertEqual(process.wait(), 0, process.text())
        return process.text()

    def same_with_and_without(self, *arguments):
        alone = self.bare(*arguments)
        self.stage.start_daemon()
        self.start_neighbour("chat", "latency")
        self.assertEqual(self.client(*arguments), alone)
        return alone

    def test_STR_01_STR_10_captures_in_every_mode_beside_launches_of_other_threads(self):
        self.stage.start_daemon()
        self.start_neighbour("chat", "latency")
        said = self.client("beside", 2000)
        self.assertEqual(re.findall(r"mode (\d): (\w+)", said), [("0", "ok"), ("1", "ok"), ("2", "ok")], said)

    def test_STR_05_what_a_framework_calls_around_a_capture_answers_as_without_the_shim(self):
        said = self.same_with_and_without("framework", 200)
        self.assertIn("counted 600", said)

    def test_STR_06_a_capture_over_two_streams_with_host_nodes_replayed_by_another_thread(self):
        said = self.same_with_and_without("communication", 50)
        self.assertIn("counted 100, host calls 50", said)

    def test_STR_02_graph_launches_are_regulated_and_recorded(self):
        self.stage.start_daemon()
        self.start_neighbour("chat", "latency")
        process = self.stage.start(*self.stage.run_command("graphs", "batch"), CLIENT, "replay", "400")
        wait_for(lambda: self.launches("graphs") > 100, f"graphs launches: {process.text()}")
        tenant = wait_for(lambda: self.stage.tenant("graphs"), "graphs is known")
        self.assertEqual(process.wait(), 0, process.text())
        self.assertGreater(tenant["launches"], 100)

    def test_STR_15_a_program_reads_the_priorities_that_it_has_set(self):
        self.assertIn("0 to -5", self.same_with_and_without("priorities"))

    def test_STR_14_a_stopped_batch_tenant_never_delays_a_latency_tenant(self):
        self.stage.start_daemon()
        train = self.start_neighbour("train", "batch", model="resnet18")
        chat = self.start_neighbour("chat", "latency")
        # When the batch tenant cannot acknowledge anything any more
        train.process.send_signal(signal.SIGSTOP)
        self.addCleanup(train.process.send_signal, signal.SIGCONT)
        # Then the latency tenant goes on, none of its launches held
        self.wait_launching("chat", chat)
        self.assertEqual(self.stage.tenant("chat")["waits"], 0)


if __name__ == "__main__":
    unittest.main()
