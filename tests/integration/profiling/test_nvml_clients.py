#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated NVML through nvidia-ml-py: an idle device, two programs that load it, and its end."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import pynvml

SIM = pathlib.Path(os.environ["GACER_BUILD"]) / "sim"
LOAD = os.environ["PROFILING_LOAD"]
MIB = 1 << 20
CONTEXT = 416 * MIB  # charged for a context (runtime/simdevice/MODEL.md)

# nvidia-ml-py asks the loader for libnvidia-ml.so.1: this one is loaded already.
ctypes.CDLL(str(SIM / "libnvidia-ml.so.1"))


def eventually(condition, limit_s=60):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return condition()


class NvmlClients(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gacer-nvml-")
        for name in list(os.environ):
            if name.startswith("SIMGPU_"):
                del os.environ[name]
        os.environ.update(SIMGPU_DIR=self.folder, SIMGPU_DEVICE="H100", SIMGPU_DEVICES="2",
                          CUDA_MPS_PIPE_DIRECTORY=self.folder)
        self.programs = []

    def tearDown(self):
        for program in self.programs:
            program.stdin.close()
            program.wait(60)
            program.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, mib, **environment):
        program = subprocess.Popen([LOAD, str(mib)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, **environment})
        self.programs.append(program)
        program.uuid = program.stdout.readline().strip()
        self.assertEqual("ready", program.stdout.readline().strip())
        return program

    def test_idle_device_is_listed_without_a_server(self):
        pynvml.nvmlInit()
        self.assertEqual(2, pynvml.nvmlDeviceGetCount())
        device = pynvml.nvmlDeviceGetHandleByIndex(1)
        self.assertEqual("NVIDIA H100 80GB HBM3", pynvml.nvmlDeviceGetName(device))
        self.assertEqual((9, 0), pynvml.nvmlDeviceGetCudaComputeCapability(device))
        memory = pynvml.nvmlDeviceGetMemoryInfo(device)
        self.assertEqual((81559 * MIB, 0), (memory.total, memory.used))
        self.assertEqual(0, pynvml.nvmlDeviceGetUtilizationRates(device).gpu)
        self.assertEqual([], pynvml.nvmlDeviceGetComputeRunningProcesses(device))
        self.assertEqual([0, 0], pynvml.nvmlDeviceGetMigMode(device))
        self.assertEqual(pynvml.NVML_TOPOLOGY_HOSTBRIDGE, pynvml.nvmlDeviceGetTopologyCommonAncestor(
            device, pynvml.nvmlDeviceGetHandleByIndex(0)))
        self.assertFalse(os.path.exists(self.folder + "/device.sock"))  # asking started nothing
        pynvml.nvmlShutdown()
        with self.assertRaises(pynvml.NVMLError_Uninitialized):
            pynvml.nvmlDeviceGetCount()

    def test_figures_follow_two_programs(self):
        first = self.start(100)
        pynvml.nvmlInit()
        device, other = (pynvml.nvmlDeviceGetHandleByIndex(i) for i in (0, 1))
        self.assertEqual(first.uuid, pynvml.nvmlDeviceGetUUID(device).removeprefix("GPU-").replace("-", ""))
        self.assertEqual({first.pid: CONTEXT + 100 * MIB}, self.processes(device))
        second = self.start(200)
        self.assertEqual({first.pid: CONTEXT + 100 * MIB, second.pid: CONTEXT + 200 * MIB}, self.processes(device))
        self.assertEqual(2 * CONTEXT + 300 * MIB, pynvml.nvmlDeviceGetMemoryInfo(device).used)
        # Almost all the time one of the two runs a kernel; each gets a share.
        self.assertTrue(eventually(lambda: pynvml.nvmlDeviceGetUtilizationRates(device).gpu >= 50))
        self.assertTrue(eventually(lambda: set(self.shares(device)) == {first.pid, second.pid}), self.shares(device))
        # The second device has nothing to do.
        self.assertEqual(({}, 0), (self.processes(other), pynvml.nvmlDeviceGetUtilizationRates(other).gpu))
        self.assertEqual(0, pynvml.nvmlDeviceGetMemoryInfo(other).used)

        first.stdin.close()
        first.wait(60)
        self.assertTrue(eventually(lambda: self.processes(device) == {second.pid: CONTEXT + 200 * MIB}))
        second.stdin.close()
        second.wait(60)
        # The connection of NVML does not hold the server.
        self.assertTrue(eventually(lambda: not os.path.exists(self.folder + "/device.sock")))
        self.assertEqual({}, self.processes(device))
        self.assertEqual(0, pynvml.nvmlDeviceGetMemoryInfo(device).used)
        pynvml.nvmlShutdown()

    def test_process_name(self):
        program = self.start(1)
        pynvml.nvmlInit()
        self.assertEqual(LOAD, pynvml.nvmlSystemGetProcessName(program.pid))
        pynvml.nvmlShutdown()

    @staticmethod
    def processes(device):
        return {p.pid: p.usedGpuMemory for p in pynvml.nvmlDeviceGetComputeRunningProcesses(device)}

    @staticmethod
    def shares(device):
        try:
            return {s.pid: s.smUtil for s in pynvml.nvmlDeviceGetProcessUtilization(device, 0)}
        except pynvml.NVMLError_NotFound:
            return {}


if __name__ == "__main__":
    unittest.main(verbosity=2)
