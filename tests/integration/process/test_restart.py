# SPDX-License-Identifier: Apache-2.0
"""Daemons that come and go, and an upgrade, under programs that run."""
import os
import shutil
import signal
import unittest

from life import SHIM, LifeTest, wait_for


class Restart(LifeTest):
    def tenant(self):
        return self.tenants().get("server")

    def test_pain_proc_09_a_restarted_daemon_finds_its_tenants_with_their_limits(self):
        program = self.start("slowly", 300, GACER_TENANT="server", GACER_CLASS="latency", GACER_MEM="3G",
                             GACER_WEIGHT="7", GACER_LOG="error")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            daemon = self.start_daemon()
            seen = wait_for(lambda: self.tenant() if (self.tenant() or {"launches": 0})["launches"] > 20 else None,
                            "the tenant has attached")
            self.assertEqual((seen["class"], seen["weight"], seen["memory_limit_bytes"], len(seen["pids"])),
                             ("latency", 7, 3 << 30, 1))
            self.end_daemon(daemon, number)
        out, _ = self.finish(program)
        print(f"\nlongest launch over three restarts: {int(out.split()[1]) / 1e6:.2f} ms")

    def test_pain_proc_09_an_upgrade_by_rename_leaves_running_programs_alone(self):
        installed = self.folder / "libgacer.so"
        shutil.copy(SHIM, installed)
        self.start_daemon()
        program = self.start("slowly", 300, preload=installed, GACER_TENANT="server")
        wait_for(lambda: (self.tenant() or {"launches": 0})["launches"] > 20, "attached")
        fresh = self.folder / "libgacer.so.new"
        shutil.copy(SHIM, fresh)
        os.rename(fresh, installed)
        with open(f"/proc/{program.pid}/maps", encoding="ascii") as maps:
            self.assertIn(f"{installed} (deleted)", maps.read())
        before = self.tenant()["launches"]
        wait_for(lambda: self.tenant()["launches"] > before + 1000, "a thousand launches with the old file")
        self.client("launch", 20, preload=installed, GACER_TENANT="new")
        self.finish(program)

    def test_pain_proc_12_stopping_the_daemon_signals_no_tenant(self):
        # Under MPS a client that is killed may take others with it: gacer ends its daemon and nobody else.
        self.start_daemon()
        program = self.start("slowly", 300, GACER_TENANT="server", GACER_LOG="error")
        wait_for(lambda: (self.tenant() or {"launches": 0})["launches"] > 20, "attached")
        self.assertEqual(self.gacer("stop").returncode, 0)
        self.assertIsNone(program.poll())
        self.finish(program)


if __name__ == "__main__":
    unittest.main()
