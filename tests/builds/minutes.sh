#!/bin/sh
# minutes.sh SOURCE [JOBS]: measures the first build. It configures and builds only psim, in a new folder, as
# `./psim run` does on a fresh clone. It prints the processor minutes and the clock minutes, and the ratio to the
# processor time of one reference file (reference.cpp). It uses no compiler cache.
set -eu
export CCACHE_DISABLE=1
unset CMAKE_CXX_COMPILER_LAUNCHER || true
source=$(cd "$1" && pwd)
jobs=${2:-$(nproc)}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

# Puts the processor seconds of all children so far into `spent`. `times` must not stand in $(...), because this
# starts another shell, and a shell counts only its own children.
count() {
  times >"$build/times"
  spent=$(tail -n 1 "$build/times" | awk '{ for (i = 1; i <= 2; ++i) { split($i, t, /[ms]/); s += 60 * t[1] + t[2] } printf "%.2f", s }')
}

cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPSIM_UNITY=ON >"$build/log" || { cat "$build/log"; exit 3; }
flags=
[ "$(uname -m)" != x86_64 ] || flags=-march=x86-64-v2
reference() {
  c++ -std=c++20 -O3 $flags -isystem /usr/include/eigen3 -c "$source/tests/builds/reference.cpp" -o "$build/reference.o"
}
count && before=$spent
reference; reference; reference
count && of_one=$(echo "$before $spent" | awk '{ printf "%.2f", ($2 - $1) / 3 }')

count && before=$spent begin=$(date +%s)
ninja -C "$build" -j "$jobs" psim >"$build/log" || { cat "$build/log"; exit 3; }
end=$(date +%s)
count
echo "$before $spent $of_one $((end - begin)) $jobs" | awk '{
  printf "psim: %.1f minutes of a processor, %.1f minutes of the clock with %d jobs\n", ($2 - $1) / 60, $4 / 60, $5
  printf "one reference file: %.1f s of a processor; psim takes %.0f times as long\n", $3, ($2 - $1) / $3 }'
