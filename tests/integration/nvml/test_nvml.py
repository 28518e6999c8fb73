# SPDX-License-Identifier: Apache-2.0
"""NVML under the shim tells the tenant's share, as cuMemGetInfo does, and is otherwise the library it was."""
import ctypes.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from stage import BUILD, LIMIT_S, Stage  # noqa: E402

VENV = pathlib.Path(os.environ["GACER_CLIENT_VENV"])
PYTHON = VENV / "bin" / "python3"
SHIM = BUILD / "lib" / "libgacer.so"
NVML = BUILD / "nullnvml"
GIB = 1 << 30
DEVICE_BYTES, DEVICE_USED, DEVICE_RESERVED = 40 * GIB, 3 * GIB, GIB // 2


class NvmlTest(unittest.TestCase):
    def setUp(self):
        if not PYTHON.exists():
            self.skipTest(f"no Python environment at {VENV}: run scripts/setup.sh")
        self.stage = Stage(mps=False)
        self.addCleanup(self.stage.close)
        self.simulator = self.stage.environment["LD_LIBRARY_PATH"]
        self.driver = self.folder_with_the_driver_alone()
        self.stage.environment["LD_LIBRARY_PATH"] = f"{self.driver}:{NVML}"
        self.stage.environment["SIMGPU_SERVER"] = str(BUILD / "sim" / "simgpu-server")
        self.know_devices(self.device_uuid())

    def folder_with_the_driver_alone(self):
        folder = self.stage.folder / "driver"
        folder.mkdir()
        (folder / "libcuda.so.1").symlink_to(BUILD / "sim" / "libcuda.so.1")
        return folder

    def know_devices(self, *uuids):
        self.stage.environment["NULLNVML_DEVICES"] = ",".join(
            f"{uuid}:{DEVICE_BYTES}:{DEVICE_USED}:{DEVICE_RESERVED}" for uuid in uuids)

    def device_uuid(self):
        program = ("import ctypes,uuid;c=ctypes.CDLL('libcuda.so.1');c.cuInit(0);r=(ctypes.c_uint8*16)();"
                   "c.cuDeviceGetUuid_v2(r,0);print('GPU-'+str(uuid.UUID(bytes=bytes(r))))")
        return subprocess.run([PYTHON, "-c", program], env=self.stage.environment, check=True, capture_output=True,
                              text=True, timeout=LIMIT_S).stdout.strip()

    def tenant_environment(self, name="a", limit=None, **more):
        env = dict(self.stage.environment, LD_PRELOAD=str(SHIM), GACER_SOCKET=str(self.stage.socket), GACER_TENANT=name)
        if limit:
            env["GACER_MEM"] = str(limit)
        env.update(more)
        return env

    def run_tenant(self, *command, **settings):
        return subprocess.run([str(part) for part in command], env=self.tenant_environment(**settings),
                              capture_output=True, text=True, timeout=LIMIT_S)

    def watch(self, **settings):
        answer = self.run_tenant(PYTHON, HERE / "watcher.py", **settings)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        return json.loads(answer.stdout)

    def start_holder(self, size, **settings):
        holder = subprocess.Popen([PYTHON, HERE / "holder.py", str(size)], env=self.tenant_environment(**settings),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: holder.poll() is None and (holder.kill(), holder.communicate()))
        line = holder.stdout.readline()
        self.assertTrue(line, "the holder printed nothing")
        return holder, json.loads(line)

    def test_MEM_19_nvml_v1_v2_and_cuda_agree_in_every_process_of_the_tenant(self):
        self.stage.start_daemon()
        _, seen = self.start_holder(GIB, limit=4 * GIB)
        cuda, nvml = seen["cuda"], seen["nvml"]
        self.assertEqual(cuda["total"], 4 * GIB)
        self.assertLessEqual(cuda["free"], 3 * GIB)
        self.assertEqual((nvml["total"], nvml["free"]), (cuda["total"], cuda["free"]))
        outside = self.watch(limit=4 * GIB)[0]
        self.assertEqual((outside["v1"]["total"], outside["v1"]["free"]), (cuda["total"], cuda["free"]))
        for version in ("v1", "v2"):
            row = outside[version]
            self.assertEqual(row["used"] + row["free"] + row.get("reserved", 0), row["total"])

    def test_MEM_24_a_neighbours_allocation_does_not_change_what_a_tenant_sees(self):
        self.stage.start_daemon()
        self.start_holder(GIB, limit=4 * GIB)
        before = self.watch(limit=4 * GIB)
        holder, _ = self.start_holder(2 * GIB, name="b", limit=8 * GIB)
        self.assertEqual(self.watch(limit=4 * GIB), before)
        holder.communicate()
        self.assertEqual(self.watch(limit=4 * GIB), before)

    def test_given_a_device_that_is_not_the_tenants_then_its_numbers_are_the_limit_with_nothing_used(self):
        self.stage.start_daemon()
        other = "GPU-ffffffff-0000-4000-8000-000000000001"
        self.know_devices(self.device_uuid(), other)
        self.start_holder(GIB, limit=4 * GIB)
        rows = self.watch(limit=4 * GIB)
        self.assertEqual(rows[1]["uuid"], other)
        self.assertEqual((rows[1]["v1"]["total"], rows[1]["v1"]["used"]), (4 * GIB, 0))

    def test_given_no_limit_then_the_devices_own_numbers(self):
        self.stage.start_daemon()
        self.assertEqual(self.watch(), self.bare_numbers())

    def bare_numbers(self):
        answer = subprocess.run([PYTHON, HERE / "watcher.py"], env=self.stage.environment, check=True,
                                capture_output=True, text=True, timeout=LIMIT_S)
        rows = json.loads(answer.stdout)
        self.assertEqual(rows[0]["v1"]["total"], DEVICE_BYTES)
        return rows

    def test_given_no_daemon_then_the_local_limit_is_shown(self):
        row = self.watch(limit=4 * GIB)[0]["v2"]
        self.assertEqual((row["total"], row["free"], row["used"], row["reserved"]), (4 * GIB, 4 * GIB, 0, 0))

    def test_given_the_simulated_nvml_then_it_tells_the_share_too(self):
        self.stage.environment["LD_LIBRARY_PATH"] = self.simulator
        self.stage.start_daemon()
        row = self.watch(limit=4 * GIB)[0]
        self.assertEqual((row["v1"]["total"], row["v2"]["total"], row["v2"]["used"]), (4 * GIB, 4 * GIB, 0))

    def test_OBS_14_a_linked_program_gets_the_share_and_the_librarys_own_errors(self):
        answer = self.run_tenant(BUILD / "tests" / "nvml_linked", limit=4 * GIB)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        total, free, used, refused, who = answer.stdout.split(maxsplit=4)
        self.assertEqual((int(total), int(free), int(used)), (4 * GIB, 4 * GIB, 0))
        self.assertEqual(int(refused), 25)
        self.assertEqual(who.strip(), str(SHIM))

    def open_nvml(self, file, **settings):
        program = ("import ctypes,sys\ntry: print(ctypes.CDLL(sys.argv[1]).nullnvml_marker())\n"
                   "except OSError as error: print(error)")
        return self.run_tenant(PYTHON, "-c", program, file, limit=GIB, **settings).stdout.strip()

    def test_functions_that_no_face_knows_are_the_librarys(self):
        for file in ("libnvidia-ml.so.1", NVML / "libnvidia-ml.so.1"):
            self.assertEqual(self.open_nvml(file), "4711", file)

    def test_FW_09_given_no_nvml_then_opening_it_fails_as_it_would_without_the_shim(self):
        if ctypes.util.find_library("nvidia-ml"):
            self.skipTest("this machine has an NVML of its own")
        text = self.open_nvml("libnvidia-ml.so.1", LD_LIBRARY_PATH=str(self.driver))
        self.assertEqual(text, "libnvidia-ml.so.1: cannot open shared object file: No such file or directory")

    def test_asking_whether_nvml_is_loaded_does_not_load_it(self):
        program = "import ctypes,os\ntry: ctypes.CDLL('libnvidia-ml.so.1', mode=os.RTLD_NOLOAD); print('loaded')\n" \
                  "except OSError: print('not loaded')"
        self.assertEqual(self.run_tenant(PYTHON, "-c", program, limit=GIB).stdout.strip(), "not loaded")


if __name__ == "__main__":
    unittest.main()
