# SPDX-License-Identifier: Apache-2.0
"""The simulated libcudart exports what the toolkit's does, under both symbol versions, and says honestly what it lacks."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
OURS = pathlib.Path(os.environ["GACER_BUILD"]) / "sim"
STUBS = pathlib.Path(os.environ["CUDART_STUBS"])
# What programs of CUDA 12 call by names that 13 no longer has.
ONLY_12 = """cudaEventElapsedTime_v2 cudaGetDeviceProperties_v2 cudaGraphAddDependencies_v2 cudaGraphAddNode_v2
cudaGraphGetEdges_v2 cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependentNodes_v2 cudaGraphRemoveDependencies_v2
cudaLaunchCooperativeKernelMultiDevice cudaMemAdvise_v2 cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz
cudaSetDoubleForDevice cudaSetDoubleForHost cudaSignalExternalSemaphoresAsync_v2
cudaSignalExternalSemaphoresAsync_v2_ptsz cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v2_ptsz
cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo_v3_ptsz cudaStreamUpdateCaptureDependencies_v2
cudaStreamUpdateCaptureDependencies_v2_ptsz cudaThreadExit cudaThreadGetCacheConfig cudaThreadGetLimit
cudaThreadSetCacheConfig cudaThreadSetLimit cudaThreadSynchronize cudaWaitExternalSemaphoresAsync_v2
cudaWaitExternalSemaphoresAsync_v2_ptsz""".split()


def exports(library):
    text = subprocess.check_output(["nm", "-D", "--defined-only", "--with-symbol-versions", library], text=True)
    return set(re.findall(r" T (\w+@@?libcudart\.so\.\d+)", text))


class Exports(unittest.TestCase):
    def setUp(self):
        self.toolkit = {name.split("@")[0] for name in exports(os.environ["CUDART_TOOLKIT"])}
        self.ours = exports(OURS / "libcudart.so.13")

    def test_every_export_of_the_toolkit_is_there(self):
        self.assertGreater(len(self.toolkit), 400)
        self.assertEqual(set(), {f"{n}@@libcudart.so.13" for n in self.toolkit} - self.ours)

    def test_nothing_else_is_exported(self):
        ours13 = {n.split("@")[0] for n in self.ours if n.endswith(".13")}
        self.assertEqual(set(), ours13 - self.toolkit)

    def test_programs_of_cuda_12_find_theirs(self):
        new_in_13 = re.compile(r"cudaLogs|cudaMemDiscard|cudaMem\w+MemPool$|cudaMemPrefetchBatch|AtomicCapabilities|__cudaGetProc")
        wanted = [n for n in self.toolkit if not new_in_13.search(n)] + ONLY_12
        self.assertEqual(set(), {f"{n}@libcudart.so.12" for n in wanted} - self.ours)

    def test_what_is_not_supported_is_listed(self):
        stubs = set(re.findall(r"GACER_RUNTIME_STUB\((\w+)\)", STUBS.read_text()))
        lines = (HERE / "not_supported.txt").read_text().splitlines()
        listed = {line for line in lines if line and not line.startswith("#")}
        self.assertEqual(listed, stubs)
        print(f"libcudart.so.13: {len(self.toolkit)} exports, {len(self.toolkit) - len(stubs)} implemented, "
              f"{len(stubs)} answer cudaErrorNotSupported")

    def test_loaded_by_name_from_python(self):
        """As packages do that bring bindings but no runtime of their own."""
        code = ("import ctypes, sys; r = ctypes.CDLL(sys.argv[1]); n = ctypes.c_int(); p = ctypes.c_void_p();"
                "a = r.cudaGetDeviceCount(ctypes.byref(n)), r.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(64)), r.cudaFree(p);"
                "v = ctypes.c_int(); r.cudaRuntimeGetVersion(ctypes.byref(v)); print(a, n.value, v.value // 1000)")
        for name in ("libcudart.so.12", "libcudart.so.13", "libcudart.so"):
            with tempfile.TemporaryDirectory() as folder:
                environment = dict(os.environ, LD_LIBRARY_PATH=str(OURS), SIMGPU_DIR=folder)
                answer = subprocess.check_output([sys.executable, "-c", code, name], env=environment, text=True)
            self.assertEqual("(0, 0, 0) 1 13", answer.strip())

    def test_other_names_are_the_same_library(self):
        for name in ("libcudart.so.12", "libcudart.so"):
            self.assertEqual((OURS / "libcudart.so.13").resolve(), (OURS / name).resolve())


if __name__ == "__main__":
    unittest.main()
