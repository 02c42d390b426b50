#!/bin/sh
# debug.sh CMAKE ARCH: builds psim without optimisation, in build/debug. Does nothing if nothing has changed. An
# existing folder keeps its settings, except for the instruction set.
set -eu
cd "$(dirname "$0")/../.."
if [ -f build/debug/CMakeCache.txt ]; then
  grep -q "^PSIM_ARCH:[A-Z]*=$2\$" build/debug/CMakeCache.txt || "$1" -S . -B build/debug -DPSIM_ARCH="$2"
else
  "$1" --preset debug -DPSIM_TESTS=OFF -DPSIM_ARCH="$2"
fi
exec "$1" --build build/debug --target psim
