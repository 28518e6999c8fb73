# SPDX-License-Identifier: Apache-2.0
"""Children of tenants, made in every way: each is a process of its own for the daemon, and the parent's account
stays the parent's."""
import unittest

from life import LifeTest


class Forks(LifeTest):
    def launches_seen(self, *arguments):
        daemon = self.stand_in()
        self.client(*arguments)
        seen = daemon.end()
        self.assertTrue(all(client["gone"] for client in seen["clients"]))
        return [client["launches"] for client in seen["clients"]]

    def test_fork_after_use(self):
        self.assertEqual(self.launches_seen("fork", 30), [60, 30])

    def test_raw_clone_after_use_does_not_go_on_in_its_parents_segment(self):
        self.assertEqual(self.launches_seen("raw-clone", 30), [60, 30])

    def test_raw_clone_of_a_regulated_tenant(self):
        daemon = self.stand_in("--mode", "window", "--window", "1000000000", "--record", "--mark", "4")
        self.client("raw-clone", 30)
        self.assertEqual([client["launches"] for client in daemon.end()["clients"]], [60, 30])

    def test_vfork_and_exec(self):
        self.assertEqual(self.launches_seen("vfork", 30), [60, 30])

    def test_posix_spawn(self):
        self.assertEqual(self.launches_seen("spawn", 30), [60, 30])

    def test_fork_and_exec(self):
        self.assertEqual(self.launches_seen("fork-exec", 30), [60, 30])

    def test_fork_while_threads_launch(self):
        seen = self.launches_seen("fork-threads", 30)
        self.assertEqual(seen[1:], [30] * 20)

    def test_pain_proc_15_a_parent_without_cuda_forks_children_that_use_it(self):
        daemon = self.stand_in()
        program = self.start("fork-unused", 30)
        self.finish(program)
        seen = daemon.end()
        self.assertEqual([client["launches"] for client in seen["clients"]], [30] * 4)
        pids = {pid for pid, _ in self.driver_events()}
        self.assertEqual(len(pids), 4)
        self.assertNotIn(program.pid, pids, "the driver was not even loaded in the parent")

    def test_the_same_without_a_daemon(self):
        for mode in ("fork", "raw-clone", "vfork", "spawn", "fork-threads"):
            with self.subTest(mode=mode):
                self.client(mode, 20, GACER_LOG="error")


if __name__ == "__main__":
    unittest.main()
