#!/bin/sh
# Makes a page with psim and opens it: run.sh PSIM SOURCE PICTURES KIND SCENARIO [ARGUMENT...]. KIND: study or run.
set -eu
psim=$1 source=$2 pictures=$3 kind=$4
scenario=$5
shift 5
command -v python3 >/dev/null || { echo "skipped: there is no python3 here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
if [ "$kind" = study ]; then
  "$psim" compare "$source/scenarios/$scenario.toml" --out it --report "$@" >out || [ $? = 1 ]
  document=study.json
else
  "$psim" run "$source/scenarios/$scenario.toml" --out it "$@" >out || [ $? = 1 ]
  "$psim" report it >>out
  document=summary.json
fi
grep -q '^report: it/report.html' out
mkdir -p "$pictures"
python3 -B "$source/tests/page/page_test.py" it/report.html it/$document "$pictures/$kind-$scenario"
