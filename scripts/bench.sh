#!/bin/sh
# bench.sh [--profile] [--seconds S] [--only compiler|onnx|large|host|cortexm]: see bench/bench.py and docs/BENCHMARKS.md. Times nothing against
# a limit and always ends with 0, unless something does not build or run.
set -eu
cd "$(dirname "$0")/.."
PYTHONDONTWRITEBYTECODE=1 exec python3 bench/bench.py "$@"
