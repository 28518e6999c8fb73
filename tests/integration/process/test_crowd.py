# SPDX-License-Identifier: Apache-2.0
"""Many processes: at once, one after the other for ever, and more than a daemon takes."""
import os
import shutil
import socket
import statistics
import subprocess
import unittest

from life import CLIENT, LIMIT_S, LifeTest, wait_for

AT_ONCE = int(os.environ.get("GACER_TEST_PROCESSES", "500"))
SHORT_LIVES = int(os.environ.get("GACER_TEST_SHORT_LIVES", "3000"))


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


class Herd:
    """Clients that wait for one signal to make their first launch, and then live until they are let go."""

    def __init__(self, count, environment):
        read_end, self.write_end = os.pipe()
        out_read, out_write = os.pipe()
        self.output = open(out_read, encoding="ascii")
        self.processes = [subprocess.Popen([CLIENT, "first", "3"], env=environment, stdin=read_end, stdout=out_write,
                                           stderr=subprocess.DEVNULL) for _ in range(count)]
        os.close(read_end)
        os.close(out_write)
        for _ in self.processes:
            assert self.output.readline() == "ready\n"

    def go(self):
        """Microseconds until each had made its first launch."""
        os.write(self.write_end, b"g" * len(self.processes))
        return [int(self.output.readline()) / 1000 for _ in self.processes]

    def let_go(self):
        os.close(self.write_end)
        for process in self.processes:
            assert process.wait(LIMIT_S) == 0
        self.output.close()


class Crowd(LifeTest):
    def herd(self, count, **environment):
        return Herd(count, self.environment(GACER_LOG="error", NULLCUDA_TRACE="/dev/null", **environment))

    def start_daemon(self, *options, **how):
        self.daemon = super().start_daemon(*options, **how)
        return self.daemon

    def live_processes(self):
        """As many as gacerd has segments mapped; its status leaves processes out when they are too many."""
        with open(f"/proc/{self.daemon.pid}/maps", encoding="ascii") as maps:
            return maps.read().count("gacer-tenant")

    def test_pain_proc_04_all_start_at_once(self):
        alone = self.herd(AT_ONCE)
        bare = alone.go()
        alone.let_go()
        self.start_daemon()
        crowd = self.herd(AT_ONCE, GACER_TENANT="crowd")
        attached = crowd.go()
        # Those that found the daemon too busy have passed through, and attach later.
        live = self.live_processes()
        print(f"\nfirst launch, {AT_ONCE} processes at once, us: p50 {percentile(bare, 50):.0f} "
              f"p99 {percentile(bare, 99):.0f} without a daemon; p50 {percentile(attached, 50):.0f} "
              f"p99 {percentile(attached, 99):.0f} with; {live} attached at once")
        self.assertGreater(live, 0)
        crowd.let_go()
        wait_for(lambda: self.live_processes() == 0, "all have left")

    def test_pain_proc_04_the_shim_makes_no_context(self):
        self.start_daemon()
        self.client("launch", 20)
        events = [event for _, event in self.driver_events()]
        self.assertEqual(events.count("cuDevicePrimaryCtxRetain"), 1, "the program's own")
        self.assertEqual(events.count("cuCtxCreate"), 0)

    def system_calls(self, pid_of_daemon):
        """Calls by name that one more process costs itself and the daemon, timers and waiting left out."""
        logs = [self.folder / "client.strace", self.folder / "daemon.strace"]
        watcher = subprocess.Popen(["strace", "-f", "-o", logs[1], "-p", str(pid_of_daemon)], stderr=subprocess.PIPE,
                                   text=True)
        self.assertIn("attached", watcher.stderr.readline())
        before = self.live_processes()
        joining = self.start("launch", 3, wrapper=["strace", "-f", "-o", logs[0]], NULLCUDA_TRACE="/dev/null",
                             GACER_TENANT="joining")
        self.finish(joining)
        wait_for(lambda: self.live_processes() == before, "it has left")
        watcher.terminate()
        watcher.communicate(timeout=LIMIT_S)
        counts = []
        for log in logs:
            names = [line.split(maxsplit=1)[1].split("(")[0] for line in log.read_text().splitlines() if "(" in line]
            # How the scheduler treats threads decides these.
            counts.append({name: names.count(name) for name in set(names) - {"membarrier", "futex", "sched_yield"}})
        return counts

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_pain_proc_05_joining_costs_the_same_calls_however_many_live(self):
        daemon = self.start_daemon()
        seen = {}
        for live in (10, 200):
            herd = self.herd(live, GACER_TENANT="herd")
            herd.go()
            wait_for(lambda: self.live_processes() == live, "all attached")
            client, gacerd = self.system_calls(daemon.pid)
            # Per connection; the status requests of this test are connections too.
            per_accept = {name: round(gacerd.get(name, 0) / gacerd["accept4"], 1)
                          for name in ("openat", "read", "readlink", "stat", "newfstatat", "kill", "getsockopt")}
            seen[live] = (client, per_accept, {name: gacerd.get(name, 0) for name in ("memfd_create", "mmap")})
            herd.let_go()
            wait_for(lambda: self.live_processes() == 0, "all have left")
        for few, many in zip(seen[10], seen[200]):
            for name in set(few) | set(many):
                # Looks at the daemon's health come with time and not with company.
                self.assertLessEqual(many.get(name, 0), few.get(name, 0) + 4, name)

    def test_pain_proc_05_time_to_join(self):
        self.start_daemon()
        medians = {}
        for live in (10, AT_ONCE):
            herd = self.herd(live, GACER_TENANT="herd")
            herd.go()
            samples = []
            for _ in range(15):
                one = self.herd(1)
                samples += one.go()
                one.let_go()
            medians[live] = statistics.median(samples)
            herd.let_go()
            wait_for(lambda: self.live_processes() == 0, "all have left")
        print(f"\nfirst launch of one more process, us, median: {medians}")
        self.assertEqual(len(medians), 2)

    def test_pain_proc_14_many_short_lives_leave_nothing_behind(self):
        daemon = self.start_daemon()

        def descriptors():
            return len(os.listdir(f"/proc/{daemon.pid}/fd"))

        # The connections of this test's own questions end a moment after they are answered.
        quiet = wait_for(lambda: descriptors() if descriptors() == min(descriptors() for _ in range(50)) else 0, "quiet")

        def resident_kib_after(children):
            self.client("crowd", children, NULLCUDA_TRACE="/dev/null", GACER_LOG="error")
            wait_for(lambda: self.live_processes() == 0, "all have left")
            wait_for(lambda: descriptors() == quiet, "no descriptor is left behind")
            with open(f"/proc/{daemon.pid}/status", encoding="ascii") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

        first = resident_kib_after(SHORT_LIVES // 2)
        second = resident_kib_after(SHORT_LIVES - SHORT_LIVES // 2)
        print(f"\n{SHORT_LIVES} short lives: gacerd has {first} KiB after half of them, {second} KiB after all")
        self.assertLess(second - first, 2048, "KiB of growth")
        self.assertIsNone(daemon.poll())
        self.assertNotIn("gacer", " ".join(os.listdir("/dev/shm")))

    def test_a_full_backlog_lets_launches_pass_and_is_tried_again(self):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.socket)
        listener.listen(0)
        waiting = []
        while True:
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            one.setblocking(False)
            try:
                one.connect(self.socket)
            except BlockingIOError:
                one.close()
                break
            waiting.append(one)
        program = self.start("slowly", 300, GACER_TENANT="patient", GACER_LOG="warn")
        self.assertEqual(program.stdout.readline(), "ready\n", "the first launch has passed")
        for one in waiting + [listener]:
            one.close()
        os.unlink(self.socket)
        self.start_daemon()
        wait_for(lambda: self.tenants().get("patient", {"launches": 0})["launches"] > 20, "attached later")
        _, err = self.finish(program)
        self.assertIn("Resource temporarily unavailable", err)


if __name__ == "__main__":
    unittest.main()
