#!/bin/sh
# Plays with the playground: play.sh PSIM SOURCE PICTURES KIND. KIND: served, or study (a page without a server).
set -eu
psim=$1 source=$2 pictures=$3 kind=$4
command -v python3 >/dev/null || { echo "skipped: there is no python3 here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p "$pictures"
set --
if [ "$kind" = study ]; then
  "$psim" compare "$source/scenarios/playground.toml" --set training.epochs=4 --set 'cluster.network.bandwidth=["1Gbps", "10Mbps"]' \
    --set 'straggler.0.slowdown=[4.0, 1.0]' --seeds 1,2,3,4,5 --trace events --out it >out
  "$psim" report it --sliders --out play.html >out
  grep -q '^report: play.html' out
  set -- "$work/play.html"
fi
python3 -B "$source/tests/page/play_test.py" "$psim" "$pictures/playground-$kind" "$@"
