# SPDX-License-Identifier: Apache-2.0
"""gacer-model as a program on the simulated device."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from stage import Stage, wait_for  # noqa: E402

MODELS = ["alexnet", "vgg16", "resnet18", "resnet50", "resnet101", "mobilenetv2", "densenet121", "bert-base",
          "gpt2-decode", "lstm"]


class GacerModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = Stage(mps=False)
        cls.addClassCleanup(cls.stage.close)

    def report(self, *options):
        path = self.stage.folder / "report.json"
        path.unlink(missing_ok=True)
        process = self.stage.model(*options, "--json", path)
        self.assertEqual(process.wait(), 0, process.text())
        return json.loads(path.read_text())

    def test_every_model_serves_requests_with_the_same_bits_each_time(self):
        for model in MODELS:
            with self.subTest(model=model):
                report = self.report(model, "--tiny", "--batch", "2", "--requests", "3", "--checksum")
                self.assertEqual(report["requests"], 3)
                self.assertEqual(report["differing_outputs"], 0)
                self.assertGreater(report["p50_ms"], 0)
                self.assertLessEqual(report["p50_ms"], report["p99_ms"])
                self.assertLessEqual(report["p99_ms"], report["max_ms"])
                self.assertAlmostEqual(report["items_per_s"], 2 * report["requests_per_s"])

    def test_a_graph_changes_nothing_but_the_calls(self):
        for model in ("resnet18", "bert-base"):
            plain = self.report(model, "--tiny", "--requests", "2", "--checksum")
            graph = self.report(model, "--tiny", "--requests", "2", "--checksum", "--graph")
            self.assertEqual(plain["checksum"], graph["checksum"])

    def test_the_seed_decides_the_checksum(self):
        checksums = {self.report("lstm", "--tiny", "--requests", "1", "--checksum", "--seed", seed)["checksum"]
                     for seed in ("1", "2", "1")}
        self.assertEqual(len(checksums), 2)

    def test_measuring_starts_and_stops_with_files(self):
        start, stop = self.stage.folder / "start", self.stage.folder / "stop"
        process = self.stage.model("lstm", "--tiny", "--start-file", start, "--stop-file", stop)
        wait_for(lambda: "gacer-model: warm" in process.text(), "the model is warm")
        self.assertNotIn("latency", process.text())
        start.touch()
        self.assertTrue(process.alive())
        stop.touch()
        self.assertEqual(process.wait(), 0)
        self.assertIn("latency ms:", process.text())

    def test_a_trace_serves_each_arrival_once(self):
        trace = self.stage.folder / "trace.txt"
        trace.write_text("0\n0.001\n0.002\n")
        self.assertEqual(self.report("lstm", "--tiny", "--arrival", f"trace:{trace}")["requests"], 3)

    def test_a_bad_trace_is_one_line_and_two(self):
        trace = self.stage.folder / "bad.txt"
        trace.write_text("0\nsoon\n")
        process = self.stage.model("lstm", "--tiny", "--arrival", f"trace:{trace}")
        self.assertEqual(process.wait(), 2)
        self.assertEqual(process.text(), f"gacer-model: {trace}:2: 'soon' is not a time in seconds\n")

    def test_poisson_arrivals_take_their_time(self):
        # Twenty arrivals at ten a second take two seconds or so (the seed is fixed), however fast the device is.
        report = self.report("lstm", "--tiny", "--arrival", "poisson:10", "--requests", "20")
        self.assertEqual(report["requests"], 20)
        self.assertGreater(report["elapsed_s"], 1.0)

    def test_no_such_device_is_one_line_and_one(self):
        process = self.stage.model("lstm", "--tiny", "--device", "77")
        self.assertEqual(process.wait(), 1)
        self.assertEqual(len(process.text().splitlines()), 1)
        self.assertIn("cuDeviceGet(77): CUDA_ERROR_INVALID_DEVICE", process.text())


if __name__ == "__main__":
    unittest.main()
