#!/bin/sh
# levels.sh COUNT: model/numerics has the same bits whatever compiles it and for whatever processor. g++ and, where they are
# installed, clang++ and the cross compiler for aarch64 compile the folder for each level; every program computes each
# function for COUNT inputs and hashes the results; all hashes must be equal. A level that this processor does not have
# is compiled, but not run.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=c++20 -O2 -ffp-contract=off -fno-trapping-math -Wno-psabi -I."
common="tests/builds/bits.cpp model/base/random.cpp model/numerics/functions.cpp model/numerics/matrices.cpp model/numerics/product.cpp"
failed=0

# try NAME COMMAND...: what COMMAND prints must equal what the first command printed.
try() {
  name=$1 && shift
  "$@" >"$work/said"
  if [ ! -e "$work/first" ]; then
    cp "$work/said" "$work/first" && cat "$work/first"
  elif ! diff "$work/first" "$work/said"; then
    echo "$name: other bits (above, with >)" && failed=1
    return 0
  fi
  echo "$name: $(wc -l <"$work/said") hashes"
}

# has_level LEVEL: this processor has it.
has_level() {
  case $1 in
    v2) true ;;
    v3) grep -qw fma /proc/cpuinfo && grep -qw avx2 /proc/cpuinfo ;;
    v4) grep -qw avx512vl /proc/cpuinfo && grep -qw avx512dq /proc/cpuinfo ;;
  esac
}

case $(uname -m) in x86_64) levels="v2 v3 v4" ;; *) levels="" ;; esac
for compiler in g++ clang++; do
  command -v $compiler >/dev/null || { echo "$compiler is not installed"; continue; }
  for level in v3 v4; do
    [ -n "$levels" ] || continue
    $compiler $flags -O3 -march=x86-64-$level -c model/numerics/product_$level.cpp -o "$work/product_$level.o"
  done
  for level in $levels; do
    # Everything but the products is compiled for this level, too: nothing may depend on it.
    $compiler $flags -march=x86-64-$level -c model/numerics/product_portable.cpp -o "$work/portable.o"
    $compiler $flags -march=x86-64-$level $common "$work/portable.o" "$work"/product_v?.o -o "$work/bits"
    if has_level $level; then
      PSIM_LEVEL=$level try "$compiler, x86-64-$level" "$work/bits" "$1"
    else
      echo "$compiler, x86-64-$level: compiled; this processor cannot run it"
    fi
  done
done
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null; then
  aarch64-linux-gnu-g++ $flags -static $common model/numerics/product_portable.cpp -o "$work/bits"
  try "g++, aarch64" qemu-aarch64 "$work/bits" "$1"
else
  echo "aarch64: not run, needs aarch64-linux-gnu-g++ and qemu-aarch64"
fi
exit $failed
