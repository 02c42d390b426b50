#!/bin/sh
# Studies that psim makes of shipped scenarios, recomputed from their runs.
#   shipped.sh PSIM SOURCE      Exit code 77: python3 is not installed.
# Between them: targets that all runs reach, that some miss, and none; one condition and three; failures; a
# baseline that is not the first arm; and 2, 3 and 5 seeds.
set -eu
psim=$1
source=$2
command -v python3 >/dev/null || { echo "skipped: python3 is not installed (Debian: python3)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

recomputed() {
  study=$1
  scenario=$2
  shift 2
  code=0
  "$psim" compare "$source/scenarios/$scenario.toml" --out "$study" "$@" >said 2>&1 || code=$?
  # 1: some run missed its target.
  [ "$code" -le 1 ] || { cat said; exit 1; }
  python3 "$source/tests/snippets/reanalyse_study.py" "$study"
}

recomputed reached stragglers
recomputed missed stragglers --set training.duration=1500ms --baseline asp
recomputed crash server_crash
recomputed plain compression --seeds 1,2
