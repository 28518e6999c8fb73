#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats all sources with clang-format 14; --check only reports.
set -euo pipefail
cd "$(dirname "$0")/.."
clang-format --version | grep -q 'version 14\.' || { echo "format.sh: error: clang-format 14 needed; run scripts/setup.sh" >&2; exit 1; }
mapfile -t files < <(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')
if [ "${1:-}" = --check ]; then
  clang-format --dry-run -Werror "${files[@]}"
else
  clang-format -i "${files[@]}"
fi
