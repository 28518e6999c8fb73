#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, and runs the main job on the simulated A100: a latency tenant beside a batch tenant, alone,
# time-sliced, under MPS and under gacer. Prints one table; writes build/demo/result.json and timeline.json.
# Options go to scripts/demo.py (--seconds, --time-scale, --device ...; --help).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh release gacer_demo
exec python3 scripts/demo.py "$@"
