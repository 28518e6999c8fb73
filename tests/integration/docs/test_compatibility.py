# SPDX-License-Identifier: Apache-2.0
"""docs/compatibility.md against the tests: every known report has a test that carries its id, or a line that says why not."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "compatibility.md"
ROW = re.compile(r"^\| ([A-Z]+-\d+) \| (.+?) \| (.+?) \|$", re.MULTILINE)
# A test's name in C++ (TEST(Suite, name)) or Python (def test_...); ids are written with an underscore there.
NAMES = re.compile(r"TEST(?:_[FP])?\(\s*\w+,\s*(\w+)\)|def (test_\w+)")
IDS = re.compile(r"(?:^|_)(SYM|MEM|STR|PROC|CON|OBS|FW|PERF)_(\d\d)(?=_|$)", re.IGNORECASE)
# Kinds that must be complete, with the numbers that the collection of reports uses.
KINDS = {
    "SYM": "01 02 03 04 05 07 09 10 11 12 13 15 16 17 18 19 20",
    "MEM": "01 02 03 04 06 07 09 11 12 13 14 16 17 18 19 20 21 22 23 24 25 26 27 28 29",
    "STR": "01 02 03 05 06 08 09 10 12 13 14 15 16",
    "PROC": "01 02 04 05 06 07 09 11 12 13 14 15 16",
    "CON": "01 02 04 05 06 07 09 10 11 12 13 14 15 16",
}


def tests_by_id():
    """id -> {file: [names]}, from the sources under tests/."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("*")):
        if path.suffix not in (".cpp", ".py") or path == pathlib.Path(__file__):
            continue
        for match in NAMES.finditer(path.read_text(errors="replace")):
            name = match.group(1) or match.group(2)
            for kind, number in IDS.findall(name):
                where = path.relative_to(ROOT).as_posix()
                found.setdefault(f"{kind.upper()}-{number}", {}).setdefault(where, []).append(name)
    return found


class CompatibilityTest(unittest.TestCase):
    def setUp(self):
        self.rows = {row[0]: row[2] for row in ROW.findall(PAGE.read_text())}
        self.tests = tests_by_id()

    def test_every_report_has_a_row(self):
        wanted = [f"{kind}-{number}" for kind, numbers in KINDS.items() for number in numbers.split()]
        self.assertEqual([report for report in wanted if report not in self.rows], [])

    def test_a_row_names_the_files_whose_tests_carry_the_id_or_says_why_there_is_none(self):
        for report, shown in self.rows.items():
            files = set(re.findall(r"`(tests/[^`]+)`", shown))
            with self.subTest(report):
                self.assertEqual(files, set(self.tests.get(report, {})))
                if not files:
                    self.assertRegex(shown, r"^(Not applicable|Later): .{20,}")

    def test_every_test_that_carries_an_id_has_a_row(self):
        self.assertEqual(sorted(set(self.tests) - set(self.rows)), [])


if __name__ == "__main__":
    unittest.main()
