# SPDX-License-Identifier: Apache-2.0
"""Processes of one tenant against a real gacerd; the null driver's count over all processes is the truth."""
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from stage import wait_for  # noqa: E402

BUILD = pathlib.Path(os.environ["GACER_BUILD"])
CLIENT = BUILD / "tests" / "memory_client"
MIB = 1 << 20
LIMIT_S = 240
OUT_OF_MEMORY = "error 2"
# NullMemoryFile: a mutex of 40 bytes, two words of 4, then highest, sum, allocations; then slots of (taken, bytes).
NUMBERS = struct.Struct("<QQQ")


class QuotaTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gacer-quota-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.socket = self.folder / "g.sock"
        self.memory = self.folder / "memory"
        self.processes = []
        self.addCleanup(self.end_all)
        self.start_daemon()

    def end_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def start_daemon(self):
        self.daemon = subprocess.Popen([BUILD / "bin" / "gacerd", "--socket", str(self.socket)],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(self.daemon)
        wait_for(lambda: self.status() is not None, "gacerd answers")

    def status(self):
        answer = subprocess.run([BUILD / "bin" / "gacer", "status", "--json", "--socket", str(self.socket)],
                                capture_output=True, text=True, timeout=LIMIT_S)
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def tenant(self):
        return next((t for t in self.status()["tenants"] if t["name"] == "t"), None)

    def used_in_ledger(self):
        tenant = self.tenant()
        return tenant["memory_used_bytes"] if tenant else 0

    def start(self, *arguments, limit="1024M", **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GACER_", "NULLCUDA_", "LD_"))}
        env.update(LD_LIBRARY_PATH=str(BUILD / "nulldriver"), LD_PRELOAD=str(BUILD / "lib" / "libgacer.so"),
                   NULLCUDA_MEMORY=str(self.memory), GACER_SOCKET=str(self.socket), GACER_TENANT="t", GACER_MEM=limit)
        env.update(more)
        env = {k: v for k, v in env.items() if v is not None}
        process = subprocess.Popen([CLIENT, *map(str, arguments)], env=env, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    def hold(self, *arguments, **more):
        """The process and what it said of its allocation; holds until its input ends."""
        process = self.start("hold", *arguments, **more)
        return process, process.stdout.readline().strip()

    def end(self, process):
        out, err = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 0, out + err)
        return out

    def truth(self):
        """(highest, now) in bytes, by the driver."""
        highest, now, _ = NUMBERS.unpack_from(self.memory.read_bytes(), 48)
        return highest, now

    def test_two_processes_in_loops_of_100000_never_exceed_the_quota_together(self):
        anchor, said = self.hold(1)
        self.assertEqual(said, "ok")
        loops = [self.start("loop", 100_000, 64, seed) for seed in (1, 2)]
        counts = [dict(zip(*[iter(self.end(p).split())] * 2)) for p in loops]
        self.assertEqual([int(c["other"]) for c in counts], [0, 0])
        self.assertGreater(sum(int(c["refused"]) for c in counts), 1000)
        self.assertGreater(sum(int(c["granted"]) for c in counts), 10_000)
        highest, now = self.truth()
        self.assertLessEqual(highest, 1024 * MIB)
        self.assertGreater(highest, 900 * MIB)
        self.assertEqual(now, 1 * MIB)
        wait_for(lambda: self.used_in_ledger() == 1 * MIB, "the ledger is what is held")
        anchor.stdin.write("x")
        anchor.stdin.close()
        anchor.stdin = None
        anchor.wait(LIMIT_S)
        wait_for(lambda: self.used_in_ledger() == 0, "the ledger ends at zero")

    def test_killed_processes_give_back_and_never_exceed_the_quota(self):
        anchor, said = self.hold(1)
        self.assertEqual(said, "ok")
        generator = random.Random(7)
        running = []
        for number in range(60):
            running.append(self.start("loop", 10_000_000, 64, number))
            if len(running) < 3:
                continue
            time.sleep(generator.uniform(0, 0.1))
            victim = running.pop(generator.randrange(len(running)))
            victim.send_signal(signal.SIGKILL)
            victim.wait(LIMIT_S)
        for process in running:
            process.kill()
            process.wait(LIMIT_S)
        highest, _ = self.truth()
        self.assertLessEqual(highest, 1024 * MIB)
        self.assertGreater(highest, 900 * MIB)
        wait_for(lambda: self.used_in_ledger() == 1 * MIB, "the ledger is what the living hold")
        again, said = self.hold(1023)
        self.assertEqual(said, "ok")

    def test_pain_mem_13_of_eight_at_a_barrier_exactly_one_succeeds(self):
        rounds = 100
        clients = [self.start("rounds", rounds, 600, NULLCUDA_ALLOC_DELAY_US="20000") for _ in range(8)]
        for _ in range(rounds):
            for client in clients:
                client.stdin.write("go\n")
            for client in clients:
                client.stdin.flush()
            said = [client.stdout.readline().strip() for client in clients]
            self.assertEqual(said.count("ok"), 1, said)
            self.assertEqual(said.count(OUT_OF_MEMORY), 7, said)
            for client in clients:
                client.stdin.write("free\n")
                client.stdin.flush()
            self.assertEqual([client.stdout.readline() for client in clients], ["freed\n"] * 8)
        self.assertEqual(self.used_in_ledger(), 0)
        self.assertEqual(self.truth()[0], 600 * MIB)

    def test_pain_mem_21_processes_of_a_tenant_share_its_quota(self):
        _, first = self.hold(600, limit="1000M")
        _, second = self.hold(600, limit="1000M")
        self.assertEqual([first, second], ["ok", OUT_OF_MEMORY])

    def test_pain_mem_21_ten_small_ones_fit(self):
        said = [self.hold(100, limit="1000M")[1] for _ in range(10)]
        self.assertEqual(said, ["ok"] * 10)
        self.assertEqual(self.hold(1, limit="1000M")[1], OUT_OF_MEMORY)

    def test_pain_mem_21_children_of_every_kind_count_for_the_same_tenant(self):
        self.assertEqual(self.hold(400, limit="1000M")[1], "ok")
        self.assertEqual(self.hold(200, "fork", limit="1000M")[1], "ok")
        self.assertEqual(self.hold(200, "setsid", limit="1000M")[1], "ok")
        self.assertEqual(self.hold(200, "twice", limit="1000M")[1], "ok")
        self.assertEqual(self.hold(1, "twice", limit="1000M")[1], OUT_OF_MEMORY)
        self.assertEqual(len(self.tenant()["pids"]), 5)

    def test_pain_mem_11_kills_never_make_the_used_number_wrap(self):
        for number in range(10):
            process = self.start("loop", 10_000_000, 64, number)
            time.sleep(0.05)
            process.kill()
            process.wait(LIMIT_S)
            self.assertLess(self.used_in_ledger(), 1 << 40)
        wait_for(lambda: self.used_in_ledger() == 0, "nothing is left")

    def test_pain_con_04_variables_that_are_unset_or_edited_do_not_lift_the_limit(self):
        self.assertEqual(self.hold(600, limit="1000M")[1], "ok")
        for changed in ({"GACER_MEM": None}, {"GACER_MEM": "64G"}, {"GACER_MEM": "nonsense"}, {"GACER_CLASS": "latency"},
                        {"GACER_WEIGHT": "1000"}, {"GACER_PRIORITY": "1000"}):
            self.assertEqual(self.hold(600, limit="1000M", **changed)[1], OUT_OF_MEMORY, changed)

    def test_pain_mem_25_device_attributes_pass_unchanged(self):
        shimmed = self.end(self.start("attributes"))
        bare = self.end(self.start("attributes", LD_PRELOAD=None))
        self.assertEqual(shimmed, bare)
        self.assertEqual(len(shimmed.splitlines()), 200)

    def test_with_the_daemon_gone_the_limit_holds_in_each_process(self):
        process = self.start("rounds", 3, 600)
        process.stdin.write("go\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "ok\n")
        self.daemon.kill()
        self.daemon.wait()
        other = self.start("rounds", 1, 1025)
        other.stdin.write("go\n")
        other.stdin.flush()
        self.assertEqual(other.stdout.readline().strip(), OUT_OF_MEMORY)


if __name__ == "__main__":
    unittest.main()
