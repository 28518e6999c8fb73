# SPDX-License-Identifier: Apache-2.0
"""Deaths and faults on the simulated device: the neighbour's next launch completes, or answers with an error under MPS."""
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

    def fault_beside_a_neighbour(self, stage):
        neighbour = self.tenant(stage, "neighbour", "steady", 1_000_000)
        wait_for(lambda: self.steps(neighbour) > 3, "the neighbour works")
        faulty = self.tenant(stage, "faulty", "fault", 1)
        self.assertEqual(faulty.wait(), 0)
        self.assertIn(int(faulty.text().split()[-1]), (ILLEGAL_ADDRESS, LAUNCH_FAILED))
        return neighbour, faulty

    def completes(self, tenants):
        return all([tenant.wait() == 0 for tenant in tenants])

    def test_pain_proc_13_a_fault_stays_with_its_process_without_mps(self):
        neighbour, _ = self.fault_beside_a_neighbour(self.stage(mps=False))
        self.goes_on(neighbour)
        neighbour.kill()

    def test_pain_proc_13_a_fault_reaches_mps_clients_as_an_error_and_not_the_next_ones(self):
        stage = self.stage(mps=True)
        neighbour, faulty = self.fault_beside_a_neighbour(stage)
        # Then the neighbour's calls answer with the error, and it ends in its own way
        self.assertEqual(neighbour.wait(), 1, neighbour.text())
        self.assertIn(int(neighbour.text().split()[-1]), (ILLEGAL_ADDRESS, LAUNCH_FAILED))
        # And the device's log names the one that caused it first
        log = (stage.folder / "sim" / "server.log").read_text()
        self.assertLess(0, log.index(f"(pid {faulty.pid})"), log)
        self.assertLess(log.index(f"(pid {faulty.pid})"), log.index(f"(pid {neighbour.pid})"), log)
        # And gacerd goes on: when both have gone, others work under it
        wait_for(lambda: stage.try_status()["tenants"] == [], "both have left")
        wait_for(lambda: self.completes([self.tenant(stage, "first", "steady", 1)]), "MPS takes clients again")
        pair = [self.tenant(stage, name, "steady", 20) for name in ("one", "other")]
        self.assertTrue(self.completes(pair), [process.text() for process in pair])


if __name__ == "__main__":
    unittest.main()
