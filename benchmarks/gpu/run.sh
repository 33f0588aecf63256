#!/usr/bin/env bash
# Measures the recorder on a machine with an NVIDIA GPU and PyTorch, in less than eight minutes.
#
#   benchmarks/gpu/run.sh [OUT]           OUT: folder of the results (default: benchmarks/results/gpu)
#   DEVICE=cpu STEPS=5 ROUNDS=1 ...       a dry run without a GPU
#
# Needs: python3 (PYTHON=...) with PyTorch and setuptools, g++. Fetches nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON=$("${PYTHON:-python3}" -c "import sys; print(sys.executable)")
OUT=${1:-benchmarks/results/gpu}
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
library=$(mktemp -d)
trap 'rm -rf "$library"' EXIT
# Only the recorder, built for this Python beside a copy of the package; nothing is installed.
(cd sdk && "$PYTHON" setup.py -q build_ext --build-lib "$library" --build-temp "$library/objects")
cp sdk/src/tracemill/*.py "$library/tracemill/"
export PYTHONPATH="$library${PYTHONPATH:+:$PYTHONPATH}"
exec "$PYTHON" benchmarks/gpu/driver.py --out "$OUT" --device "${DEVICE:-cuda}" \
  --steps "${STEPS:-60}" --rounds "${ROUNDS:-3}" --budget-s "${BUDGET_S:-440}"
