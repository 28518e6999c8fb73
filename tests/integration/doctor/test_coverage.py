# SPDX-License-Identifier: Apache-2.0
"""gacer status --coverage: what reached the driver unregulated, by function and stream, with real gacerd and shim."""
import textwrap
import unittest

from case import BUILD, PYTHON, DoctorCase, wait_for

PROGRAM = textwrap.dedent("""
    import ctypes, sys
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    cuda.cuModuleLoadData(ctypes.byref(module), b".version 8.0")
    cuda.cuModuleGetFunction(ctypes.byref(function), module, b"kernel")

    def launch(count):
        for _ in range(count):
            assert cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0

    def import_memory(count):
        handle = ctypes.c_uint64()
        for _ in range(count):
            assert cuda.cuMemImportFromShareableHandle(ctypes.byref(handle), None, 1) == 0

    def look_up(name, count):
        pointer, status = ctypes.c_void_p(), ctypes.c_int()
        for _ in range(count):
            assert cuda.cuGetProcAddress_v2(name, ctypes.byref(pointer), 13000, 1, ctypes.byref(status)) == 0
            assert pointer.value

    def forge():
        # The first counter in the page that is shared with gacerd: launches, which never shrink.
        page = next(line for line in open("/proc/self/maps") if "gacer-tenant" in line)
        ctypes.c_uint64.from_address(int(page.split("-")[0], 16) + 192).value = 0
    for line in sys.stdin:
        exec(line)
        print("done", flush=True)
""")


class Coverage(DoctorCase):
    def program(self):
        return self.start(BUILD / "bin" / "gacer", "run", "--name", "t", "--no-daemon", "--", PYTHON, "-c", PROGRAM)

    def do(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")

    def tenant(self):
        return next((t for t in self.status()["tenants"] if t["name"] == "t"), None)

    def rows(self, coverage):
        return {(r["name"], r["stream"]): (r["calls"], r["before_attach"]) for r in coverage["functions"]}

    def test_nothing_unregulated_is_said_so(self):
        self.driver()
        self.start_daemon()
        process = self.program()
        self.do(process, "launch(50)")
        wait_for(self.tenant, "the tenant is there")
        self.assertIn("every launch and allocation", self.gacer("status", "--coverage").stdout)

    def test_calls_before_and_after_attaching_are_told_apart_and_kept(self):
        self.driver()
        process = self.program()
        self.do(process, "import_memory(3); launch(4)")
        self.start_daemon()

        def attached():
            self.do(process, "launch(1)")
            return self.tenant()
        before = self.rows(wait_for(attached, "the program attaches")["coverage"])
        self.assertEqual(before["cuMemImportFromShareableHandle", "none"], (0, 3))
        self.assertGreaterEqual(before["cuLaunchKernel", "legacy"][1], 4)
        self.do(process, "import_memory(2)")
        self.assertEqual(self.rows(self.tenant()["coverage"])["cuMemImportFromShareableHandle", "none"], (2, 3))
        self.assertRegex(self.gacer("status", "--coverage").stdout,
                         r"t +cuMemImportFromShareableHandle +allocation +none +2 +3")
        process.kill()
        wait_for(lambda: self.tenant() is None, "the tenant is gone")
        self.assertEqual(self.rows(self.status()["coverage_of_ended_tenants"])["cuMemImportFromShareableHandle", "none"],
                         (2, 3))
        self.assertIn("(ended)", self.gacer("status", "--coverage").stdout)

    def test_STR_03_a_new_launch_function_that_a_lookup_hands_out_is_named(self):
        self.driver("newdriver")
        self.start_daemon()
        process = self.program()
        self.do(process, "launch(1)")
        wait_for(self.tenant, "the tenant is there")
        self.do(process, "look_up(b'cuLaunchFuture', 3); look_up(b'cuFuture00', 1)")
        self.assertEqual(self.tenant()["coverage"]["unknown"],
                         [{"name": "cuLaunchFuture", "calls": 0, "handed_out": 3}])
        self.assertRegex(self.gacer("status", "--coverage").stdout, r"cuLaunchFuture +unknown +\? +0 +0 +3")

    def test_PERF_04_whether_limits_are_in_force_is_told_with_the_reason(self):
        self.driver()
        self.start_daemon("--policy", "passthrough")
        process = self.program()
        self.do(process, "launch(1)")
        enforcement = wait_for(self.tenant, "the tenant is there")["enforcement"]
        self.assertEqual((enforcement["compute"]["enforced"], enforcement["memory"]["enforced"]), (False, False))
        self.assertIn("passthrough", enforcement["compute"]["why"])
        self.assertIn("--mem", enforcement["memory"]["why"])
        self.assertIn("passthrough only observes", self.gacer("status").stdout)

    def test_CON_04_a_tenant_that_edits_its_page_is_flagged(self):
        self.driver()
        self.start_daemon()
        process = self.program()
        self.do(process, "launch(20)")
        wait_for(lambda: (self.tenant() or {"launches": 0})["launches"] >= 20, "gacerd has seen the launches")
        self.assertNotIn("tampered", self.gacer("status").stdout)
        self.do(process, "forge()")
        wait_for(lambda: "tampered" in self.gacer("status").stdout, "gacerd has seen that a counter went back")
        self.assertIn(str(process.pid), next(line for line in self.gacer("status").stdout.splitlines()
                                             if "tampered" in line))


if __name__ == "__main__":
    unittest.main()
