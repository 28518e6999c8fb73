# SPDX-License-Identifier: Apache-2.0
"""Which of the driver's exports put work on the device, and what the shim does with each."""
import os
import pathlib
import re
import subprocess
import unittest

HOOKS = pathlib.Path(__file__).resolve().parents[3] / "interpose" / "hooks"

# Base names, with what must happen to every export of them (all ABI versions and stream variants).
GATED = {"cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch", "cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync"}
NEVER_HELD = {"cuLaunchCooperativeKernel": "accounted",            # waits for its own blocks
              "cuLaunchCooperativeKernelMultiDevice": "observed",  # the same on several devices: counted
              "cuLaunchHostFunc": "observed"}                      # work of the host

# Signatures of CUDA before 3.2: 32-bit addresses, no program of today can use them on a 64-bit device pointer.
SINCE_3_2 = re.compile(r"cuMem(cpy(HtoD|DtoH|DtoD|HtoA|AtoH|DtoA|AtoD|AtoA|2D|2DUnaligned|3D)(Async)?|"
                       r"setD(8|16|32|2D8|2D16|2D32))$")


def exports():
    listing = subprocess.run(["nm", "-D", "--defined-only", os.environ["GACER_STUB"]], check=True, capture_output=True,
                             text=True)
    rows = (line.split() for line in listing.stdout.splitlines())
    return {row[2].split("@")[0] for row in rows if len(row) == 3 and row[2].startswith("cu")}


def rows():
    text = "".join(part.read_text() for part in HOOKS.glob("*.def"))
    found = re.findall(r"^GACER_(HOOK|FORWARD)\((\w+), (\w+), \d+, (\w+), (\w+)\)", text, re.MULTILINE)
    return {symbol: (kind, base, hook_class) for kind, symbol, base, _, hook_class in found}


def base_of(symbol):
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", symbol)


class LaunchExportsTest(unittest.TestCase):
    def test_str_03_every_launch_export_is_governed_or_never_held_by_name(self):
        launches = {name for name in exports() if re.match(r"cu(Graph)?Launch", name)}
        self.assertGreaterEqual(len(launches), 14)
        for symbol in sorted(launches):
            with self.subTest(symbol=symbol):
                base = base_of(symbol)
                expected = "gated" if base in GATED else NEVER_HELD.get(base)
                self.assertIsNotNone(expected, "a launch that nobody has thought about: hook it, then name it here")
                self.assertEqual(rows().get(symbol), ("HOOK", base, expected))

    def test_every_copy_and_set_is_hooked_but_the_signatures_of_cuda_before_3_2(self):
        transfers = {name for name in exports() if re.match(r"cuMem(cpy|set)", name)}
        self.assertGreater(len(transfers), 90)
        for symbol in sorted(transfers):
            with self.subTest(symbol=symbol):
                kind, base, hook_class = rows().get(symbol, (None, None, None))
                self.assertEqual(base, base_of(symbol))
                self.assertEqual(kind, "FORWARD" if SINCE_3_2.match(symbol) and not self.is_new(symbol) else "HOOK")
                if kind == "HOOK":
                    charged = symbol.startswith("cuMemset") or "Async" in symbol
                    self.assertEqual(hook_class, "accounted" if charged else "observed")

    @staticmethod
    def is_new(symbol):
        """Sets with a stream came with 64-bit addresses at once."""
        return symbol.startswith("cuMemset") and symbol.endswith("Async")


if __name__ == "__main__":
    unittest.main()
