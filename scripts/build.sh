#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds one preset (default release). Usage: scripts/build.sh [release|asan|tsan|aarch64] [target...]
# aarch64 cross-compiles the shim, and the null driver and client that test it under qemu-user.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
case $preset in
  release | asan | tsan) ;;
  aarch64)
    command -v aarch64-linux-gnu-g++ >/dev/null ||
      { echo "build.sh: error: no aarch64-linux-gnu-g++. Run scripts/setup.sh: it installs it." >&2; exit 2; } ;;
  *) echo "build.sh: error: unknown preset '$preset'; there are: release asan tsan aarch64" >&2; exit 2 ;;
esac
[ $# -gt 0 ] && shift
[ "$preset" != aarch64 ] || [ $# -gt 0 ] || set -- gacer_shim gacer_nullcuda shim_client shim_plugin shim_plugin_host
if [ ! -f "build/$preset/build.ninja" ]; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
ninja -C "build/$preset" -j2 "$@"
