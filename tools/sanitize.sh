#!/usr/bin/env bash
# Runs the recorder's tests with the recorder built under the address and the thread sanitizer.
# Usage: tools/sanitize.sh [address|thread ...]
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
tests=(tests/sdk/test_gpu_*.py tests/sdk/test_nvml.py tests/sdk/test_faults.py tests/sdk/test_processes.py)
for sanitizer in "${@:-address thread}"; do
  for one in $sanitizer; do
    folder=$PWD/build/sanitize-$one
    echo "== $one sanitizer"
    $python -c "import sys; from pathlib import Path; from tests.support import sanitizers; sanitizers.build(sys.argv[1], Path(sys.argv[2]))" "$one" "$folder"
    # The thread sanitizer cannot follow threads that a forked child starts.
    select=""
    [ "$one" = thread ] && select="not fork and not multiprocessing"
    SANITIZED_RECORDER=$one:$folder $python -m pytest -q -k "$select" "${tests[@]}"
  done
done
