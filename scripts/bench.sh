#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/bench.sh NAME [--json FILE] [options of that benchmark]
# The one entry to all benchmarks: builds what NAME needs (release), runs it, prints a table; with --json also writes
# {"bench": NAME, "rows": [{...}]}. Without NAME it lists them. GACER_BUILD_DIR: build folder to use.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

names() { for file in "$root"/tests/bench/*.py; do basename "$file" .py; done; }

if [[ $# -eq 0 || $1 == -h || $1 == --help ]]; then
  echo "usage: scripts/bench.sh NAME [--json FILE]"
  echo "names: $(names | tr '\n' ' ')"
  exit 0
fi
name=$1
shift
if [[ ! -f $root/tests/bench/$name.py ]]; then
  echo "bench.sh: no benchmark '$name'; there are: $(names | tr '\n' ' ')" >&2
  exit 2
fi

build=${GACER_BUILD_DIR:-$root/build/release}
log=$build/bench-build.log
mkdir -p "$build"
if ! { [[ -f $build/CMakeCache.txt ]] || cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo; } >"$log" 2>&1 ||
  ! cmake --build "$build" --target "gacer_bench_$name" >>"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "bench.sh: build failed, see $log" >&2
  exit 1
fi
exec python3 "$root/tests/bench/$name.py" --build "$build" "$@"
