#!/bin/sh
# library.sh CMAKE BUILD EXAMPLES: programs that link an installed psim build, without its sources, and run.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --install "$2" --prefix "$folder/opt" >/dev/null
build() {  # CMAKE BUILD EXAMPLES NAME
  cp -r "$3/$4" "$folder/$4"
  "$1" -S "$folder/$4" -B "$folder/$4/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/opt" >"$folder/said" &&
    "$1" --build "$folder/$4/build" >"$folder/said" || { cat "$folder/said"; exit 1; }
}
build "$1" "$2" "$3" curve
build "$1" "$2" "$3" own_policy
psim=$folder/opt/bin/psim

# A program with psim as an optional package configures even if one of psim's libraries is missing.
mkdir "$folder/optional"
printf 'cmake_minimum_required(VERSION 3.22)\nproject(optional CXX)\nfind_package(psim QUIET)\nmessage("psim: ${psim_FOUND}, ${psim_NOT_FOUND_MESSAGE}")\n' \
  >"$folder/optional/CMakeLists.txt"
"$1" -S "$folder/optional" -B "$folder/optional/build" -DCMAKE_PREFIX_PATH="$folder/opt" \
  -DCMAKE_DISABLE_FIND_PACKAGE_Snappy=ON >"$folder/said" 2>&1 && grep -q 'psim: 0, .*Snappy' "$folder/said" ||
  { cat "$folder/said"; exit 1; }

"$folder/curve/build/curve" >"$folder/curves"
for model in bsp ssp asp watched; do
  grep -q "^$model: " "$folder/curves" || { cat "$folder/curves"; exit 1; }
done
# The rows that a program adds belong only to this program.
"$psim" run "$folder/own_policy/own_policy.toml" --set 'consistency="asp"' --set 'training={epochs=1}' --json >/dev/null 2>&1 && {
  echo "psim knows a row of another program"; exit 1; }
# An error message names the file and the line.
printf '[cluster]\nworkers = 0\nservers = 2\n' >"$folder/bad.toml"
"$folder/curve/build/curve" "$folder/bad.toml" 2>"$folder/said" && exit 1
grep -q 'bad.toml:2:' "$folder/said" || { cat "$folder/said"; exit 1; }
# The library and the command line make equal runs.
for model in bsp ssp asp; do
  "$psim" run quickstart --set consistency.model=$model --json | sed -n 's/^  "digest": "\(.\{8\}\).*/\1/p'
done >"$folder/digests"
"$folder/curve/build/curve" "$folder/opt/share/psim/scenarios/quickstart.toml" >"$folder/curves"
sed -n 's/.*digest \(.\{8\}\)$/\1/p' "$folder/curves" | diff "$folder/digests" -

cd "$folder/own_policy"
build/mypsim compare own_policy.toml >"$folder/table" 2>"$folder/said" || { cat "$folder/said"; exit 1; }
if grep -q 'has no effect' "$folder/said"; then cat "$folder/said"; exit 1; fi
grep -q '^ *majority ' "$folder/table" || { cat "$folder/table"; exit 1; }
build/mypsim explain half_life | grep -q 'counts half'
build/mypsim run own_policy.toml --set consistency.model=majority --trace events --out run >"$folder/said" 2>&1
build/mypsim verify run >"$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
