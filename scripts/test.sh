#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs all tests on the simulated device. Usage: scripts/test.sh [ctest options...]
# Ends with "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh release
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
ctest --test-dir build/release -j2 --output-on-failure "$@" | tee "$log" || status=$?
skipped=$(grep -c '\*\*\*Skipped' "$log" || true)
failed=$(grep -cE '\*\*\*(Failed|Timeout|Exception|Not Run)' "$log" || true)
total=$(sed -n 's/.*tests failed out of \([0-9]*\)$/\1/p' "$log" | tail -1)
[ "${total:-0}" -gt 0 ] || { echo "test.sh: error: no test ran" >&2; exit 1; }
echo "$((total - failed - skipped)) passed, $failed failed, $skipped skipped"
exit "$status"
