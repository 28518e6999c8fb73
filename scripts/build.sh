#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds one preset (default release). Usage: scripts/build.sh [release|asan|tsan] [target...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
[ $# -gt 0 ] && shift
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >"/tmp/gacer-configure.$$" 2>&1 ||
  { cat "/tmp/gacer-configure.$$" >&2; rm -f "/tmp/gacer-configure.$$"; exit 1; }
rm -f "/tmp/gacer-configure.$$"
exec ninja -C "build/$preset" -j2 "$@"
