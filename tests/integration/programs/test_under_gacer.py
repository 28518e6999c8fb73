# SPDX-License-Identifier: Apache-2.0
"""The programs compute the same under gacer: pairs of them run as two tenants that compete for one device."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from stage import BUILD, Stage  # noqa: E402

PAIRS = [("scan", "sort"), ("graphs", "pagerank"), ("pools", "streams_events"), ("grid_groups", "indirect_calls"),
         ("managed_tree", "zero_copy"), ("pipelines", "warp_primitives"), ("library_algorithms", "thrust_pipeline"),
         ("textures", "device_heap"), ("matmul_tensor", "bfs")]


class UnderGacer(unittest.TestCase):
    def test_given_two_programs_at_once_then_both_pass_and_nothing_runs_unregulated(self):
        stage = Stage(mps=True, SIMGPU_SERVER=os.environ["SIMGPU_SERVER"])
        self.addCleanup(stage.close)
        stage.start_daemon()
        for pair in PAIRS:
            with self.subTest(pair=pair):
                tenants = [stage.start(*stage.run_command(name, tenant_class, "--strict"), BUILD / "cuda" / f"program_{name}")
                           for name, tenant_class in zip(pair, ("latency", "batch"))]
                for name, tenant in zip(pair, tenants):
                    self.assertEqual(tenant.wait(), 0, tenant.text())
                    self.assertIn(f"{name}: passed", tenant.text())


if __name__ == "__main__":
    unittest.main()
