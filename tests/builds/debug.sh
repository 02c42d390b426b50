#!/bin/sh
# debug.sh CMAKE: builds psim without optimisation, in build/debug. Does nothing if nothing has changed. An existing
# folder keeps its settings.
set -eu
cd "$(dirname "$0")/../.."
[ -f build/debug/CMakeCache.txt ] || "$1" --preset debug -DPSIM_TESTS=OFF
exec "$1" --build build/debug --target psim psim-further
