#!/usr/bin/env bash
# The main job from end to end: record a real training on this machine, process it, print the
# verdict, serve the app.
set -euo pipefail
cd "$(dirname "$0")/.."
tracemill=$BIN/tracemill
python=$BIN/python

rm -rf "$STORE"
echo "== recording a training (40 steps; step 17 and the input of steps 27 to 30 are made slow)"
"$tracemill" record --store "$STORE" --job demo -- "$python" examples/demo_training.py
echo
echo "== processing"
"$tracemill" process --store "$STORE" --job demo
"$tracemill" report --store "$STORE" --job demo --format html -o "$STORE/report.html"
if [ -n "$TRACE" ]; then
  echo
  echo "== importing $TRACE"
  "$tracemill" import "$TRACE" --store "$STORE"
fi
echo
if [ "$SERVE" = 0 ]; then
  echo "see it: $tracemill ui --store $STORE"
else
  exec "$tracemill" ui --store "$STORE" --port "$PORT"
fi
