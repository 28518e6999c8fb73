# SPDX-License-Identifier: Apache-2.0
"""What a host does to its own process, and what the shim must leave alone in it."""
import os
import shutil
import subprocess
import unittest

from life import SHIM, LifeTest, wait_for

NOBODY = 65534


class Host(LifeTest):
    def seen_after(self, *arguments, standin=(), **kinds):
        daemon = self.stand_in(*standin)
        self.client(*arguments, **kinds)
        return daemon.end()["clients"]

    def test_nothing_of_the_host_changes(self):
        for standin in ([], ["--mode", "window", "--window", "3000", "--record", "--mark", "1"],
                        ["--mode", "closed", "--max-wait", "1000000"], ["--fault", "refuse"]):
            with self.subTest(standin=standin):
                self.seen_after("host-state", 40, standin=standin)
                os.unlink(self.socket)

    def test_nothing_of_the_host_changes_without_a_daemon(self):
        self.client("host-state", 40)

    def test_descriptors_closed_before_use(self):
        self.assertEqual([c["launches"] for c in self.seen_after("close-before", 30)], [30])

    def test_descriptors_closed_after_use_bring_a_new_attachment(self):
        self.start_daemon()
        program = self.start("close-after", 120, GACER_TENANT="closer")

        def again():
            tenant = self.tenants().get("closer", {"processes": []})
            return [p for p in tenant["processes"] if p["id"] > 1 and p["launches"] > 20]

        later = wait_for(again, "attached again")
        self.assertEqual([p["pid"] for p in later], [program.pid])

    def test_closed_standard_files_stay_the_programs(self):
        self.assertEqual([c["launches"] for c in self.seen_after("closed-std", 30)], [30])

    def test_no_message_goes_into_a_file_that_took_number_2(self):
        self.client("stderr-reused", 30, CLIENT_FILE=self.folder / "data")

    def test_calls_at_exit(self):
        # 3 x 20: main, atexit, a static object's destructor.
        self.assertEqual([c["launches"] for c in self.seen_after("atexit", 20)], [60])
        self.assertEqual(self.launches_in_driver(), 60)

    def test__exit(self):
        self.assertEqual([c["launches"] for c in self.seen_after("_exit", 20)], [20])

    def test_calls_in_destructors_of_threads(self):
        clients = self.seen_after("thread-exit", 400)
        # Three launches a thread: body, thread_local, key. Counts of threads that pass each other may differ by one.
        self.assertAlmostEqual(clients[0]["launches"], 1200, delta=8)

    def test_the_drivers_handle_closed_too_often(self):
        self.assertEqual([c["launches"] for c in self.seen_after("dlclose", 50)], [100])

    def test_a_namespace_of_its_own_reaches_the_driver_and_disturbs_nothing(self):
        # Preloads do not reach into dlmopen's namespaces: that copy of the driver is unregulated.
        self.assertEqual(self.seen_after("dlmopen", 20)[0]["launches"], 40)

    def test_an_interval_timer_does_not_stretch_the_wait_for_a_silent_daemon(self):
        for fault in ("silent", "hang-up"):
            with self.subTest(fault=fault):
                self.seen_after("timer", 30, standin=["--fault", fault])
                os.unlink(self.socket)

    def test_cancelled_threads_leave_no_lock_behind(self):
        for standin in (["--mode", "closed", "--max-wait", "3000000", "--mem", "1000"], ["--fault", "silent"]):
            with self.subTest(standin=standin):
                self.seen_after("cancel", 30, standin=standin)
                os.unlink(self.socket)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make a set-user-id program")
    def test_set_user_id_programs_do_not_load_the_shim(self):
        cat = self.folder / "cat"
        shutil.copy("/bin/cat", cat)

        def maps(program, mode):
            os.chown(cat, 0, 0)
            cat.chmod(mode)
            ran = subprocess.run([program, "/proc/self/maps"], env=self.environment(), user=NOBODY, group=NOBODY,
                                 extra_groups=[], capture_output=True, text=True, timeout=60)
            if ran.returncode != 0:
                self.skipTest(f"another user cannot run it here: {ran.stderr}")
            return "libgacer" in ran.stdout

        self.assertTrue(maps(cat, 0o755), "an ordinary program loads it")
        self.assertFalse(maps(cat, 0o4755), "the loader ignores LD_PRELOAD for a set-user-id one")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_privileges_dropped_before_the_first_launch(self):
        daemon = self.stand_in()
        os.chmod(self.socket, 0o600)
        _, err = self.client("drop", 20, CLIENT_UID=NOBODY, NULLCUDA_TRACE="/dev/null")
        self.assertIn("Permission denied", err)
        self.assertEqual(daemon.end()["welcomed"], 0)
        daemon = self.stand_in()
        os.chmod(self.socket, 0o666)
        self.client("drop", 20, CLIENT_UID=NOBODY, NULLCUDA_TRACE="/dev/null")
        self.assertEqual([c["launches"] for c in daemon.end()["clients"]], [20])

    def test_the_shim_stays_loaded_when_it_is_closed(self):
        dynamic = subprocess.run(["readelf", "-d", SHIM], capture_output=True, text=True, check=True).stdout
        self.assertIn("NODELETE", dynamic)


if __name__ == "__main__":
    unittest.main()
