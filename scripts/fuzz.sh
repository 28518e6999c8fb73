#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the libFuzzer programs (Clang, ASan, UBSan) and runs each from its kept corpus, two at a time.
# Usage: scripts/fuzz.sh [SECONDS-PER-TARGET] [TARGET...]    default: 60, all targets
# One line per target; exit 1 when one crashes, hangs or runs out of memory. The input that did it stays in
# build/fuzz/found/TARGET, what was new in the corpus in build/fuzz/corpus/TARGET (never written to the sources).
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz.sh: error: '$seconds' is not a number of seconds" >&2; exit 2; }
[ $# -gt 0 ] && shift
command -v clang++ >/dev/null || { echo "fuzz.sh: error: no clang++. Run scripts/setup.sh: it installs it." >&2; exit 2; }

parts="runtime/base;runtime/abi;runtime/shm;runtime/model;runtime/ptx;runtime/regulator;runtime/daemon;runtime/simdevice;interpose;tests"
build=build/fuzz
if [ ! -f $build/build.ninja ]; then
  cmake -G Ninja -S . -B $build -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DGACER_FUZZ=ON \
    -DGACER_SANITIZE=address,undefined "-DGACER_PARTS=$parts" >/dev/null
fi
ninja -C $build -j2 gacer_fuzz_programs >$build/build.log || { cat $build/build.log >&2; exit 1; }

declare -A corpora=([ptx]=ptx/corpus [session]=shm/corpus/session [segment]=shm/corpus/segment)
for name in environment image replies shim_segment; do corpora[$name]=interpose/corpus/$name; done
for name in cubin fatbin mps_control sim_server; do corpora[$name]=sim/corpus/$name; done
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(printf '%s\n' "${!corpora[@]}" | sort)

run_target() {
  local name=$1 log=$build/$1.log found=$build/found/$1 corpus=$build/corpus/$1
  mkdir -p "$found" "$corpus"
  if "$build/bin/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$found/" "$corpus" "tests/fuzz/${corpora[$name]}" >"$log" 2>&1; then
    printf 'fuzz %-13s ok: %s executions, %s new units\n' "$name" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
      "$(sed -n 's/^stat::new_units_added: *//p' "$log")"
  else
    printf 'fuzz %-13s FAILED: input in %s, log in %s\n' "$name" "$found" "$log"
    tail -40 "$log"
    return 1
  fi
}

for name in "${targets[@]}"; do
  [ -n "${corpora[$name]:-}" ] || { echo "fuzz.sh: error: no target '$name'; there are: ${!corpora[*]}" >&2; exit 2; }
done
failed=0
for ((i = 0; i < ${#targets[@]}; i += 2)); do
  run_target "${targets[i]}" & first=$!
  second=
  if ((i + 1 < ${#targets[@]})); then run_target "${targets[i + 1]}" & second=$!; fi
  wait $first || failed=1
  [ -z "$second" ] || wait "$second" || failed=1
done
exit $failed
