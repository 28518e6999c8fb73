# SPDX-License-Identifier: Apache-2.0
"""The launch benchmark in its quick form."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["GACER_BUILD"]
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "launch.py"


class LaunchBenchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.json"
            subprocess.run([sys.executable, BENCH, "--build", BUILD, "--quick", "--json", path], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            cls.rows = json.loads(path.read_text())["rows"]

    def test_perf_07_each_kind_of_row_is_there(self):
        cases = {row["case"] for row in self.rows}
        self.assertLessEqual({"direct", "passthrough", "limit", "gacer_lone", "gacer_open", "empty", "handoff_spinning",
                              "handoff_sleeping", "handoff_bare"}, cases)

    def test_lone_and_open_launches_make_no_system_call(self):
        counted = {row["case"]: row for row in self.rows if "system_calls" in row}
        self.assertEqual(counted["gacer_lone"]["system_calls"], 0)
        self.assertGreater(counted["gacer_lone"]["launches"], 1000)
        self.assertEqual(counted["gacer_open"]["system_calls"], 0)


if __name__ == "__main__":
    unittest.main()
