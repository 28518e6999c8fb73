#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a test in the clients' Python environment; skips (77) with one line where numba-cuda is not installed.
python=$GACER_CLIENT_VENV/bin/python
if ! "$python" -c 'import numba.cuda' 2>/dev/null; then
  echo "skipped: no numba-cuda in $GACER_CLIENT_VENV; run scripts/setup.sh"
  exit 77
fi
exec "$python" -B "$@"
