#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy 14 on the sources changed since REV (default: HEAD~1), or on all with --all. Needs build/release.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --all ]; then
  mapfile -t files < <(git ls-files 'interpose/*.cpp' 'runtime/*.cpp' 'tools/*.cpp' 'kernels/*.cpp')
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "${1:-HEAD~1}" -- 'interpose/*.cpp' 'runtime/*.cpp' 'tools/*.cpp' 'kernels/*.cpp')
fi
[ ${#files[@]} -eq 0 ] && { echo "tidy.sh: nothing changed"; exit 0; }
printf '%s\n' "${files[@]}" | xargs -P2 -n4 clang-tidy -p build/release --quiet
