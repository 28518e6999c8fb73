#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a test in the clients' Python environment; skips (77) with one line where numba-cuda is not installed.
python=$GACER_CLIENT_VENV/bin/python
# By the list of packages: an import that fails for another reason must fail the test.
if ! "$python" -c 'import importlib.metadata as m; m.version("numba-cuda")' 2>/dev/null; then
  echo "skipped: no numba-cuda in $GACER_CLIENT_VENV; run scripts/setup.sh"
  exit 77
fi
exec "$python" -B "$@"
