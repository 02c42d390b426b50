#!/bin/sh
# clang.sh CMAKE: Clang builds psim, in build/clang, without warnings; a run of this build passes `psim verify`;
# and clang-tidy finds nothing with the checks of .clang-tidy. Clang 14 of Debian 12 cannot compile the ranges of
# GCC 12's library, so this needs Clang 16 or later; without it, the test is skipped (exit code 77).
set -eu
cd "$(dirname "$0")/../.."
version=$(clang++ -dumpversion 2>/dev/null | cut -d . -f 1)
[ "${version:-0}" -ge 16 ] || { echo "skipped: Clang 16 or later is not installed"; exit 77; }
CXX=clang++ "$1" -S . -B build/clang -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
  -DPSIM_TESTS=OFF -DPSIM_WERROR=ON
"$1" --build build/clang --target psim psim-further
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
build/clang/psim run server_crash --trace events --out "$run/run" >"$run/said"
build/clang/psim verify "$run/run" >"$run/said" || { cat "$run/said"; exit 1; }
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed: not run"; exit 0; }
find model sim analysis -name '*.cpp' -print0 | xargs -0 -P "$(nproc)" -n 4 clang-tidy -p build/clang --quiet
