# SPDX-License-Identifier: Apache-2.0
"""Every operator and every tiny model, through the driver API, against its CPU reference on the simulated device."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from stage import BUILD, Stage  # noqa: E402


class OperatorsTest(unittest.TestCase):
    def test_operators_equal_their_references(self):
        stage = Stage(mps=False)
        self.addCleanup(stage.close)
        process = stage.start(BUILD / "tests" / "kernels_driver_test", "--gtest_brief=1")
        self.assertEqual(process.wait(), 0, process.text())
        self.assertIn("PASSED", process.text())


if __name__ == "__main__":
    unittest.main()
