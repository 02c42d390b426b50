#!/bin/sh
# minutes.sh SOURCE [JOBS]: measures the first build. It configures and builds psim in a new folder, as `./psim run`
# does on a fresh clone, and then everything else, as `./psim test` does. For both it prints the processor minutes and
# the clock minutes, and the ratio to the processor time of one reference file (reference.cpp). It uses no compiler
# cache.
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

echo "one reference file: $of_one s of a processor"
count && first=$spent begin=$(date +%s)
# stage TARGET NAME: the costs since the beginning, once TARGET is built.
stage() {
  ninja -C "$build" -j "$jobs" "$1" >"$build/log" || { cat "$build/log"; exit 3; }
  end=$(date +%s)
  count
  echo "$first $spent $of_one $((end - begin)) $jobs" | awk -v name="$2" '{
    printf "%s: %.1f minutes of a processor, %.1f minutes of the clock with %d jobs, %.0f times the reference file\n",
      name, ($2 - $1) / 60, $4 / 60, $5, ($2 - $1) / $3 }'
}
stage psim "psim, for the first table"
stage all "all, with the tests"
