#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds one preset (default release). Usage: scripts/build.sh [release|asan|tsan] [target...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
case $preset in
  release | asan | tsan) ;;
  *) echo "build.sh: error: unknown preset '$preset'; there are: release asan tsan" >&2; exit 2 ;;
esac
[ $# -gt 0 ] && shift
if [ ! -f "build/$preset/build.ninja" ]; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
ninja -C "build/$preset" -j2 "$@"
