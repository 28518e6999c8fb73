# SPDX-License-Identifier: Apache-2.0
"""Quotas on the simulated device: its own memory, several devices, several processes."""
import itertools
import json
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import stage as stages  # noqa: E402

MIB = 1 << 20
OUT_OF_MEMORY = 2


class DeviceTest(unittest.TestCase):
    devices = "1"
    context_bytes = "0"

    def setUp(self):
        self.stage = stages.Stage(mps=False, SIMGPU_DEVICES=self.devices, SIMGPU_CONTEXT_MEM=self.context_bytes,
                                  SIMGPU_POOL_BLOCK=str(2 * MIB))
        self.clients = []
        self.addCleanup(self.close)
        self.stage.start_daemon()

    def close(self):
        for client in self.clients:
            client.kill()
            client.communicate()
        self.stage.close()

    def client(self, *arguments, tenant="t", limit="1024M", shim=True, **more):
        env = dict(self.stage.environment, GACER_SOCKET=str(self.stage.socket), GACER_TENANT=tenant, GACER_MEM=limit, **more)
        if shim:
            env["LD_PRELOAD"] = str(stages.BUILD / "lib" / "libgacer.so")
        client = subprocess.Popen([sys.executable, "-B", HERE / "device_client.py", *map(str, arguments)], env=env, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.clients.append(client)
        return client

    def said(self, client):
        line = client.stdout.readline()
        if not line:
            self.fail(client.communicate()[1])
        return json.loads(line)

    def ask(self, client):
        client.stdin.write("go\n")
        client.stdin.flush()
        return self.said(client)

    def end(self, client):
        client.communicate(timeout=stages.LIMIT_S)
        self.clients.remove(client)

    def accounts(self, tenant="t"):
        """UUID in hex -> (allocated, overhead) by gacerd."""
        found = self.stage.tenant(tenant) or {"devices": []}
        accounts = {}
        for device in found["devices"]:
            uuid = device["uuid"].replace("GPU-", "").replace("-", "")
            overhead = device["memory_overhead_bytes"]
            accounts[uuid] = (device["memory_used_bytes"] - overhead, overhead)
        return accounts

    def truth(self):
        """Bytes in use on device 0, by a process without the shim."""
        client = self.client("queries", shim=False)
        seen = self.said(client)
        self.end(client)
        return seen["total"] - seen["free"]


class OneDevice(DeviceTest):
    def test_pain_mem_16_each_way_over_quota_is_out_of_memory_and_fits_after_a_free(self):
        for name, (over, again, fits, freed, before, after) in self.said(self.client("paths")).items():
            self.assertEqual([over, again, fits, freed], [OUT_OF_MEMORY, OUT_OF_MEMORY, 0, 0], name)
            self.assertEqual(before, after, name)
        self.assertEqual([allocated for allocated, _ in self.accounts().values()], [0])
        self.assertEqual(self.truth(), 0)

    def test_pain_mem_19_total_free_and_status_agree(self):
        seen = self.said(self.client("queries"))
        (allocated, overhead), = self.accounts().values()
        self.assertEqual(seen["total"], 1024 * MIB)
        self.assertEqual(seen["device_total"], 1024 * MIB)
        self.assertEqual(seen["free"], 1024 * MIB - allocated - overhead)

    def test_pain_mem_22_no_mix_of_calls_exceeds_the_quota(self):
        for kind in ("bfc", "expandable", "native", "arena"):
            client = self.client("mix", kind)
            seen = self.said(client)
            self.assertEqual(seen["result"], OUT_OF_MEMORY, kind)
            self.assertGreater(seen["got"], 512 * MIB)
            (allocated, overhead), = self.accounts().values()
            self.assertEqual(allocated, seen["got"])
            self.assertLessEqual(allocated + overhead, 1024 * MIB)
            self.assertEqual(self.truth(), seen["got"])
            self.end(client)

    def test_pain_mem_28_shared_memory_counts_once_whoever_opens_it(self):
        # Room for the overhead of all three: what exceeds the limit by itself would be shown but not counted.
        owner = self.client("export", limit="8192M")
        handle = self.said(owner)
        importers = [self.client("import", handle, limit="8192M") for _ in range(2)]
        self.assertEqual([self.said(client)["opened"] for client in importers], [0, 0])
        self.assertEqual([allocated for allocated, _ in self.accounts().values()], [256 * MIB])
        self.assertEqual(self.truth(), 256 * MIB)
        for client in importers:
            self.assertEqual(self.ask(client)["closed"], [0, True])
        owner.kill()
        stages.wait_for(lambda: [a for a, _ in self.accounts().values()] == [0], "the owner's death ends the charge")

    def test_pain_mem_24_a_neighbour_changes_nothing_of_what_a_tenant_sees(self):
        watcher = self.client("watch", 2000)
        self.assertEqual(self.said(watcher), "ready")
        watcher.stdin.write("go\n")
        watcher.stdin.flush()
        for _ in range(3):
            neighbour = self.client("grab", 90, tenant="n", limit="8192M")
            self.assertEqual(self.said(neighbour)["result"], 0)
            neighbour.kill()
            neighbour.wait()
        self.assertEqual(len(self.said(watcher)), 1)

    def test_pain_mem_23_equal_quotas_get_equal_memory_in_any_order(self):
        seen = [self.said(self.client("grab", 75, tenant=name, limit="4096M")) for name in ("a", "b", "c")]
        self.assertEqual(len({tuple(sorted(each.items())) for each in seen}), 1, seen)


class Overhead(DeviceTest):
    context_bytes = str(300 * MIB)

    def test_pain_mem_04_a_contexts_share_is_shown_and_counted(self):
        client = self.client("queries", SIMGPU_MODULE_MEM=str(40 * MIB))
        seen = self.said(client)
        (allocated, overhead), = self.accounts().values()
        self.assertEqual(allocated, 0)
        # An estimate: what this device takes is not to be had, see memory_overhead.h.
        self.assertGreater(overhead, 100 * MIB)
        self.assertLess(overhead, 600 * MIB)
        self.assertEqual(seen["free"], 1024 * MIB - overhead)


class SeveralDevices(DeviceTest):
    devices = "4"

    def check(self, visible):
        client = self.client("devices", CUDA_VISIBLE_DEVICES=visible)
        wanted = self.said(client)
        accounts = {uuid: allocated for uuid, (allocated, _) in self.accounts().items() if allocated}
        self.assertEqual(accounts, wanted, visible)
        self.end(client)
        stages.wait_for(lambda: self.stage.tenant("t") is None, "the tenant ends")
        return wanted

    def test_pain_con_07_charges_land_on_the_right_uuid_for_any_visibility(self):
        everything = self.check("0,1,2,3")
        self.assertEqual(len(everything), 4)
        for order in itertools.islice(itertools.permutations("0123"), 0, 24, 5):
            self.check(",".join(order))
        for subset in ("1", "3", "2,0", "", "-1", "0,0", "1,-1,2"):
            self.check(subset)
        uuid = next(iter(everything))
        self.check("GPU-" + "-".join([uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]]))

    def test_pain_con_09_two_processes_each_with_its_own_device_zero(self):
        clients = [self.client("devices", CUDA_VISIBLE_DEVICES=index) for index in ("1", "2")]
        wanted = {uuid: bytes_ for client in clients for uuid, bytes_ in self.said(client).items()}
        self.assertEqual(len(wanted), 2)
        self.assertEqual({uuid: a for uuid, (a, _) in self.accounts().items() if a}, wanted)


if __name__ == "__main__":
    unittest.main()
