# SPDX-License-Identifier: Apache-2.0
"""Other users, folders that cannot be used, namespaces of containers: joined, or refused with one clear line."""
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import time
import unittest

from life import BUILD, CLIENT, LIMIT_S, LifeTest, wait_for

ROOT = os.geteuid() == 0
NOBODY, OTHER = 65534, 2000
GACERD = BUILD / "bin" / "gacerd"
REFUSED = 4


def may_unshare(*kinds):
    return ROOT and shutil.which("unshare") and subprocess.run(["unshare", *kinds, "true"], check=False,
                                                              capture_output=True).returncode == 0


class UserTest(LifeTest):
    def as_user(self, uid):
        return {"user": uid, "group": uid, "extra_groups": []} if ROOT else {}

    def setUp(self):
        super().setUp()
        if ROOT and subprocess.run([CLIENT, "none"], **self.as_user(NOBODY), env=self.environment(preload=None),
                                   capture_output=True, check=False).returncode != 2:
            self.skipTest("other users cannot run the programs of this build folder")

    def refused_daemon(self, *options, **how):
        ran = subprocess.run([GACERD, *map(str, options)], env=self.environment(preload=None), capture_output=True,
                             text=True, timeout=LIMIT_S, check=False, **how)
        self.assertEqual(ran.returncode, REFUSED, ran.stderr)
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        return ran.stderr

    def unregulated(self, uid, socket_path, *parts):
        """A client of that user: one line that holds the parts, all launches made."""
        started = time.monotonic()
        _, err = self.client("launch", 30, how=self.as_user(uid), GACER_SOCKET=socket_path, NULLCUDA_TRACE="/dev/null")
        for part in parts:
            self.assertIn(part, err)
        return time.monotonic() - started


class StateFolder(UserTest):
    """CON-01: the folder of socket and lock."""

    def test_pain_con_01_missing_parent(self):
        path = self.folder / "a" / "b" / "d.sock"
        self.assertIn(str(path.parent), self.refused_daemon("--socket", path))
        self.unregulated(0, path, str(path), "No such file")

    def test_pain_con_01_a_file_in_the_folders_place(self):
        (self.folder / "file").write_text("")
        path = self.folder / "file" / "d.sock"
        self.assertIn(str(path), self.refused_daemon("--socket", path))
        self.unregulated(0, path, str(path), "Not a directory")

    @unittest.skipUnless(ROOT, "needs root to be another user")
    def test_pain_con_01_read_only_for_this_user_or_another_users(self):
        for mode in (0o755, 0o700):
            self.folder.chmod(mode)
            line = self.refused_daemon("--socket", self.socket, **self.as_user(NOBODY))
            self.assertIn("Permission denied", line)
            self.assertIn(str(self.folder), line)

    def refused_on_file_system(self, options):
        """gacerd with its socket on a file system of its own."""
        path = self.folder / "mounted"
        path.mkdir()
        script = f"mount -t tmpfs -o {options} none {path} && exec {GACERD} --socket {path}/d.sock"
        ran = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False,
                             env=self.environment(preload=None), timeout=LIMIT_S)
        self.assertEqual(ran.returncode, REFUSED)
        return ran

    @unittest.skipUnless(may_unshare("-m"), "needs a mount namespace")
    def test_pain_con_01_a_full_folder(self):
        ran = self.refused_on_file_system("nr_inodes=1")
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        self.assertIn("No space left", ran.stderr)

    @unittest.skipUnless(may_unshare("-m"), "needs a mount namespace")
    def test_pain_con_01_a_read_only_file_system(self):
        ran = self.refused_on_file_system("ro")
        self.assertIn("Read-only", ran.stderr)

    def test_pain_con_13_things_left_in_the_sockets_place(self):
        target = self.folder / "precious"
        target.write_text("precious")
        path = pathlib.Path(self.socket)
        for make in (lambda: path.symlink_to(target), lambda: path.write_bytes(os.urandom(4096)),
                     lambda: path.write_text(""), path.mkdir):
            make()
            self.assertIn(self.socket, self.refused_daemon("--socket", self.socket))
            self.unregulated(os.geteuid(), self.socket, self.socket)
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        self.assertEqual(target.read_text(), "precious")
        # A lock file that is a link is not followed either.
        lock = pathlib.Path(self.socket + ".lock")
        lock.unlink(missing_ok=True)
        lock.symlink_to(target)
        self.refused_daemon("--socket", self.socket)
        self.assertEqual(target.read_text(), "precious")

    def test_pain_con_13_a_peer_that_talks_nonsense(self):
        for answer in (b"\0" * 48, b"\xff" * 48, os.urandom(48), b"GCRC", os.urandom(264), b""):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(self.socket)
            listener.listen(5)
            program = self.start("launch", 30, NULLCUDA_TRACE="/dev/null")
            peer, _ = listener.accept()
            peer.recv(4096)
            if answer:
                peer.send(answer)
            peer.close()
            listener.close()
            _, err = self.finish(program)
            self.assertIn("not regulated", err)
            os.unlink(self.socket)


@unittest.skipUnless(ROOT, "needs root to be several users")
class Users(UserTest):
    def test_pain_con_02_and_con_11_strangers_are_refused_at_once_with_one_line(self):
        self.start_daemon(umask=0o077)
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o600)
        self.client("launch", 30, GACER_TENANT="same")
        seconds = self.unregulated(NOBODY, self.socket, self.socket, "Permission denied")
        print(f"\na stranger's whole run: {seconds:.3f} s")
        # Even where somebody has opened the socket to all, the daemon says whom it serves.
        os.chmod(self.socket, 0o666)
        self.unregulated(NOBODY, self.socket, "serves uid 0, not uid 65534")

    def test_pain_con_02_a_users_daemon_serves_that_user_and_root(self):
        path = self.folder / "theirs"
        path.mkdir()
        os.chown(path, NOBODY, NOBODY)
        self.socket = str(path / "d.sock")
        self.start_daemon(umask=0, **self.as_user(NOBODY))
        for name in ("d.sock", "d.sock.lock"):
            self.assertEqual(stat.S_IMODE((path / name).stat().st_mode) & 0o077, 0, name)
        for uid in (NOBODY, 0):
            program = self.start("slowly", 300, how=self.as_user(uid), GACER_TENANT="t", NULLCUDA_TRACE="/dev/null")
            wait_for(lambda: any(tenant["uid"] == uid for tenant in self.try_status()["tenants"]), f"uid {uid} attached")
            self.finish(program)
        self.unregulated(OTHER, self.socket, "Permission denied")

    def test_pain_con_02_one_name_of_two_users_is_two_tenants(self):
        path = self.folder / "theirs"
        path.mkdir()
        os.chown(path, NOBODY, NOBODY)
        self.socket = str(path / "d.sock")
        self.start_daemon(**self.as_user(NOBODY))
        programs = [self.start("slowly", 300, how=self.as_user(uid), GACER_TENANT="t", NULLCUDA_TRACE="/dev/null",
                               GACER_MEM=f"{uid + 1}K") for uid in (NOBODY, 0)]
        wait_for(lambda: len(self.try_status()["tenants"]) == 2, "two tenants of one name")
        limits = {tenant["uid"]: tenant["memory_limit_bytes"] for tenant in self.try_status()["tenants"]}
        self.assertEqual(limits, {NOBODY: (NOBODY + 1) << 10, 0: 1 << 10})
        for program in programs:
            self.finish(program)

    @unittest.skipUnless(may_unshare("-U", "-r"), "needs a user namespace")
    def test_pain_con_02_a_remapped_root(self):
        self.start_daemon()
        os.chmod(self.socket, 0o666)
        # uid 0 inside, NOBODY outside: it counts as what it is outside.
        program = self.start("launch", 30, wrapper=["unshare", "-U", "-r"], how=self.as_user(NOBODY),
                             NULLCUDA_TRACE="/dev/null")
        _, err = self.finish(program)
        self.assertIn("not uid 65534", err)


class Namespaces(LifeTest):
    IN_PID_NAMESPACE = ["unshare", "-p", "-f", "--kill-child", "--mount-proc"]

    def setUp(self):
        super().setUp()
        if not may_unshare("-p", "-f", "--mount-proc"):
            self.skipTest("needs a pid namespace")

    def test_pain_con_06_a_client_in_a_nested_pid_namespace_is_known_by_the_daemons_pid(self):
        self.start_daemon()
        program = self.start("slowly", 300, wrapper=self.IN_PID_NAMESPACE, GACER_TENANT="inner")
        seen = wait_for(lambda: self.tenants().get("inner"), "attached")
        executable = os.readlink(f"/proc/{seen['pids'][0]}/exe")
        self.assertEqual(executable, str(CLIENT))
        self.finish(program)
        wait_for(lambda: not self.tenants(), "its end is seen")

    def test_two_containers_with_equal_pids_are_two_tenants(self):
        self.start_daemon()
        programs = [self.start("slowly", 300, wrapper=self.IN_PID_NAMESPACE) for _ in range(2)]
        names = wait_for(lambda: len(self.tenants()) == 2 and list(self.tenants()), "two tenants")
        self.assertTrue(all(name.startswith("process_client-1-ns") for name in names), names)
        for program in programs:
            self.finish(program)

    def test_pain_con_12_a_daemon_in_its_own_pid_namespace_and_hidden_pids(self):
        script = f"mount -t proc -o hidepid=2 proc /proc; exec {GACERD} --socket {self.socket}"
        daemon = subprocess.Popen([*self.IN_PID_NAMESPACE, "sh", "-c", script], stderr=subprocess.DEVNULL,
                                  env=self.environment(preload=None))
        self.addCleanup(self.end_daemon, daemon)
        self.addCleanup(self.gacer, "stop")
        wait_for(self.try_status, "it answers")
        # Its peers have no pid there; they come, are served and are missed all the same.
        programs = [self.start("slowly", 60, GACER_TENANT="outer"),
                    self.start("slowly", 60, wrapper=self.IN_PID_NAMESPACE, GACER_TENANT="inner")]
        wait_for(lambda: len(self.tenants()) == 2 and
                 all(tenant["launches"] > 20 for tenant in self.tenants().values()), "both attached")
        for program in programs:
            program.kill()
        wait_for(lambda: "outer" not in self.tenants(), "the killed one is gone")

    def test_pid_reuse_does_not_bring_a_dead_tenant_back(self):
        """Within one pid namespace the same pid lives twice; the daemon sees two processes."""
        self.start_daemon()
        script = (f"echo 99 > /proc/sys/kernel/ns_last_pid; {CLIENT} launch 5 & wait; "
                  f"echo 99 > /proc/sys/kernel/ns_last_pid; {CLIENT} slowly 5 & echo $!; wait")
        program = subprocess.Popen([*self.IN_PID_NAMESPACE, "sh", "-c", script], stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.PIPE, env=self.environment(GACER_TENANT="reused"))
        self.addCleanup(program.kill)
        inner = int(program.stdout.readline())
        if inner != 100:
            program.communicate(timeout=LIMIT_S)
            self.skipTest("pids cannot be chosen here")
        tenant = wait_for(lambda: self.tenants().get("reused"), "attached")
        self.assertEqual([process["id"] for process in tenant["processes"]], [2])
        program.communicate(timeout=LIMIT_S)
        wait_for(lambda: not self.tenants(), "it has left")


if __name__ == "__main__":
    unittest.main()
