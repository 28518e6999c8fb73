# SPDX-License-Identifier: Apache-2.0
"""Deaths and faults on the simulated device: the neighbour's next launch completes."""
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from stage import BUILD, Stage, wait_for  # noqa: E402

CLIENT = BUILD / "tests" / "device_client"
ILLEGAL_ADDRESS, LAUNCH_FAILED = 700, 719


class Device(unittest.TestCase):
    def stage(self, mps):
        stage = Stage(mps=mps, SIMGPU_TIME_SCALE="1", LD_PRELOAD="")
        self.addCleanup(stage.close)
        stage.start_daemon()
        return stage

    def tenant(self, stage, name, *arguments):
        return stage.start(CLIENT, *arguments, LD_PRELOAD=str(BUILD / "lib" / "libgacer.so"),
                           GACER_SOCKET=str(stage.socket), GACER_TENANT=name)

    def steps(self, process):
        return len(process.text().split())

    def goes_on(self, neighbour):
        before = self.steps(neighbour)
        wait_for(lambda: self.steps(neighbour) >= before + 5 or not neighbour.alive(), "the neighbour goes on")
        self.assertTrue(neighbour.alive(), neighbour.text())

    def test_pain_proc_11_an_end_with_a_thousand_launches_queued(self):
        for mps in (True, False):
            stage = self.stage(mps)
            neighbour = self.tenant(stage, "neighbour", "steady", 1_000_000)
            wait_for(lambda: self.steps(neighbour) > 3, "the neighbour works")
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                with self.subTest(mps=mps, signal=number):
                    victim = self.tenant(stage, "victim", "queue", 1000)
                    wait_for(lambda: "queued" in victim.text() or not victim.alive(), "a thousand are queued")
                    self.assertNotIn("done", victim.text())
                    self.assertEqual(victim.kill(number), -number)
                    self.goes_on(neighbour)
                    wait_for(lambda: stage.tenant("victim") is None, "the victim has left")
            neighbour.kill()

    def test_pain_proc_13_a_fault_stays_with_its_process(self):
        for mps in (True, False):
            with self.subTest(mps=mps):
                stage = self.stage(mps)
                neighbour = self.tenant(stage, "neighbour", "steady", 1_000_000)
                wait_for(lambda: self.steps(neighbour) > 3, "the neighbour works")
                faulty = self.tenant(stage, "faulty", "fault", 1)
                self.assertEqual(faulty.wait(), 0)
                self.assertIn(int(faulty.text().split()[-1]), (ILLEGAL_ADDRESS, LAUNCH_FAILED))
                self.goes_on(neighbour)
                neighbour.kill()


if __name__ == "__main__":
    unittest.main()
