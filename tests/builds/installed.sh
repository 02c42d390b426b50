#!/bin/sh
# installed.sh CMAKE BUILD: psim works where it is installed, far from its sources.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --install "$2" --prefix "$folder/opt" >/dev/null
mkdir "$folder/work"
cd "$folder/work"
psim=$folder/opt/bin/psim
"$psim" run quickstart --set training.epochs=1 >summary 2>&1
[ -f runs/latest/summary.json ]
"$psim" explain >list
grep -q stragglers list
[ -f "$folder/opt/share/psim/scenarios/stragglers.toml" ]
[ -f "$folder/opt/share/doc/psim/LICENSE" ]
