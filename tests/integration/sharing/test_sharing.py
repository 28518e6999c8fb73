# SPDX-License-Identifier: Apache-2.0
"""Two unmodified processes share one simulated GPU under gacerd: same numbers, and nobody's death hurts the others."""
import json
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from stage import Stage, wait_for  # noqa: E402

LATENCY, BATCH = "bert-base", "resnet18"
ENDLESS = ["--tiny", "--seconds", "600", "--checksum", "--seed", "3"]


def short(requests=3):
    return ["--tiny", "--requests", requests, "--checksum", "--seed", "3", "--json"]


class SharingTest(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)

    def start_pair(self, memory=()):
        """A latency and a batch tenant that run until they are stopped; returns when both launch."""
        stop = self.stage.folder / "stop"
        latency = self.stage.model(LATENCY, *ENDLESS, "--stop-file", stop,
                                   wrapper=self.stage.run_command("chat", "latency", *memory))
        batch = self.stage.model(BATCH, *ENDLESS, "--stop-file", stop,
                                 wrapper=self.stage.run_command("train", "batch", *memory))
        for name, process in (("chat", latency), ("train", batch)):
            self.wait_launching(name, process)
        return latency, batch, stop

    def launches(self, name):
        tenant = self.stage.tenant(name)
        return tenant["launches"] if tenant else 0

    def wait_launching(self, name, process):
        before = self.launches(name)
        wait_for(lambda: self.launches(name) > before + 20, f"{name} launches: {process.text()}")

    def finish(self, process, stop):
        stop.touch()
        self.assertEqual(process.wait(), 0, process.text())

    def test_numbers_are_the_same_with_and_without_gacer(self):
        # Given: each model's output alone on the device, without gacer
        reports = {}
        for model in (LATENCY, BATCH):
            path = self.stage.folder / f"alone-{model}.json"
            self.assertEqual(self.stage.model(model, *short(), path).wait(), 0)
            reports[model] = json.loads(path.read_text())
        # When: both run together as tenants
        self.stage.start_daemon()
        together = {}
        for model, name, kind in ((LATENCY, "chat", "latency"), (BATCH, "train", "batch")):
            path = self.stage.folder / f"shared-{model}.json"
            together[model] = (self.stage.model(model, *short(), path, wrapper=self.stage.run_command(name, kind)), path)
        # Then: the bits are equal, and in neither run did one request differ from another
        for model, (process, path) in together.items():
            self.assertEqual(process.wait(), 0, process.text())
            report = json.loads(path.read_text())
            self.assertEqual(report["checksum"], reports[model]["checksum"])
            self.assertEqual(report["differing_outputs"], 0)

    def test_killing_the_batch_tenant_frees_its_memory_and_share(self):
        self.stage.start_daemon()
        latency, batch, stop = self.start_pair(["--mem", "1G"])
        self.assertGreater(self.stage.tenant("train")["memory_used_bytes"], 0)
        # When the batch tenant is killed
        batch.kill()
        # Then its tenant goes, with its memory, and the latency tenant works on
        wait_for(lambda: self.stage.tenant("train") is None, "train is gone")
        self.wait_launching("chat", latency)
        self.finish(latency, stop)

    def test_killing_the_latency_tenant_opens_the_batch_gate(self):
        self.stage.start_daemon()
        latency, batch, stop = self.start_pair()
        latency.kill()
        wait_for(lambda: self.stage.tenant("chat") is None, "chat is gone")
        # Then no latency tenant holds the batch tenant any more
        wait_for(lambda: self.stage.tenant("train")["gate"]["mode"] != "closed", "train's gate opens")
        self.wait_launching("train", batch)
        self.finish(batch, stop)

    def test_tenants_survive_the_daemon_and_attach_to_its_successor(self):
        daemon = self.stage.start_daemon()
        latency, batch, stop = self.start_pair(["--mem", "1G"])
        # And both have allocated all they will: until a model is warm its figure grows
        for process in (latency, batch):
            wait_for(lambda: "warm" in process.text() or not process.alive(), "both are warm")
        used = self.stage.tenant("train")["memory_used_bytes"]
        # When the daemon is killed, both go on without it
        daemon.kill()
        self.assertTrue(latency.alive() and batch.alive())
        # And when another takes its place (the dead one's socket is still there), both attach by themselves
        self.assertTrue(self.stage.socket.exists())
        self.stage.start_daemon()
        wait_for(lambda: self.stage.tenant("chat") and self.stage.tenant("train"), "both are back")
        # Then their memory is accounted again
        wait_for(lambda: self.stage.tenant("train")["memory_used_bytes"] == used, f"train uses {used} bytes again")
        self.wait_launching("train", batch)
        self.finish(latency, stop)
        self.assertEqual(batch.wait(), 0, batch.text())

    def test_an_orderly_end_of_the_daemon_releases_its_tenants(self):
        daemon = self.stage.start_daemon()
        latency, batch, stop = self.start_pair()
        self.assertEqual(daemon.kill(signal.SIGTERM), 0)
        self.assertFalse(self.stage.socket.exists())
        self.finish(latency, stop)
        self.assertEqual(batch.wait(), 0, batch.text())


class QuotaTest(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)
        self.stage.start_daemon()

    def test_a_tenant_over_its_quota_gets_out_of_memory_and_nothing_else(self):
        process = self.stage.model("resnet18", *short(1), os.devnull,
                                   wrapper=self.stage.run_command("small", "batch", "--mem", "64K"))
        self.assertEqual(process.wait(), 1)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", process.text())
        self.assertEqual(len([line for line in process.text().splitlines() if line]), 1, process.text())


if __name__ == "__main__":
    unittest.main()
