# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at any instruction: the daemon stays sound and its other tenants go on."""
import os
import random
import subprocess
import unittest

from life import BUILD, CLIENT, LIMIT_S, LifeTest, wait_for

KILLS = int(os.environ.get("GACER_TEST_KILLS", "24"))
STEPPER = BUILD / "tests" / "process_stepper"
FOR_EVER = 100_000_000


class Kill(LifeTest):
    def setUp(self):
        super().setUp()
        probe = self.step(FOR_EVER, "launch", 1)
        if probe.returncode == 3 and "may not trace" in probe.stderr and self.step(0, "stop", 1).returncode != 0:
            self.skipTest("ptrace is not permitted here")

    def step(self, steps, *arguments, **environment):
        return subprocess.run([STEPPER, str(steps), CLIENT, *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment(GACER_LOG="error", NULLCUDA_TRACE="/dev/null", **environment),
                              timeout=LIMIT_S)

    def descriptors(self, daemon):
        return len(os.listdir(f"/proc/{daemon.pid}/fd"))

    def test_pain_proc_01_and_proc_02_killed_at_every_kind_of_instruction(self):
        daemon = self.start_daemon("--policy", "timeslice")
        before = self.descriptors(daemon)
        environment = {"GACER_TENANT": "shared", "GACER_MEM": "8M"}
        # Of the victims' tenant, so that they share its memory account, and of another.
        others = [self.start("slowly", 300, GACER_LOG="error", NULLCUDA_TRACE="/dev/null", **environment)
                  for _ in range(2)]
        others.append(self.start("slowly", 300, GACER_LOG="error", NULLCUDA_TRACE="/dev/null", GACER_TENANT="other"))
        for other in others:
            self.assertEqual(other.stdout.readline(), "ready\n")
        whole_life = int(self.step(FOR_EVER, "stop", 10, **environment).stdout)
        self.assertGreater(whole_life, 1000)
        choose = random.Random(2)
        for kill in range(KILLS):
            # One from each part of its life, from connecting to the last gated launch.
            steps = choose.randrange(whole_life * kill // KILLS, whole_life * (kill + 1) // KILLS)
            self.assertEqual(self.step(steps, "stop", 10, **environment).returncode, 0)
            self.assertIsNone(daemon.poll(), f"gacerd ended after a kill at instruction {steps}")

        def launches():
            return {name: tenant["launches"] for name, tenant in self.tenants().items()}

        now = launches()
        self.assertEqual(set(now), {"shared", "other"})
        wait_for(lambda: all(launches()[name] > now[name] + 20 for name in now), "the others go on")
        wait_for(lambda: len(self.tenants()["shared"]["pids"]) == 2, "the victims are gone")
        for other in others:
            self.assertIsNone(other.poll())
            other.kill()
        wait_for(lambda: not self.tenants() and self.descriptors(daemon) == before, "nothing is left behind")
        print(f"\n{KILLS} kills over {whole_life} instructions from cuInit to exit")

    def test_pain_proc_16_a_killed_client_leaves_nothing_in_dev_shm(self):
        self.start_daemon()
        before = set(os.listdir("/dev/shm"))
        program = self.start("slowly", 60, GACER_TENANT="victim")
        wait_for(lambda: self.tenants().get("victim", {"launches": 0})["launches"] > 5, "attached")
        program.kill()
        wait_for(lambda: not self.tenants(), "it has left")
        self.assertEqual(set(os.listdir("/dev/shm")), before)


if __name__ == "__main__":
    unittest.main()
