#!/bin/sh
# paje.sh PSIM SCENARIOS: pj_dump reads the Paje traces of the shipped scenarios that take little time.
# Exit code 77: it is not installed.
set -u
psim=$1 scenarios=$2
command -v pj_dump >/dev/null || { echo "skipped: pj_dump is not installed (Debian: pajeng)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
read=0 failed=0
for file in "$scenarios"/*.toml; do
  name=$(basename "$file" .toml)
  (ulimit -t 5 && exec "$psim" run "$file" --trace events --out run --force) >said 2>&1
  [ $? -le 1 ] || continue  # no data, or too long
  "$psim" export run --paje trace --force >said 2>&1 || { cat said; failed=$((failed + 1)); continue; }
  read=$((read + 1))
  pj_dump trace >dump 2>said && grep -q '^Container, 0, Run, ' dump ||
    { failed=$((failed + 1)); echo "$name: $(head -n 2 said)"; }
done
echo "$read traces, $failed failed"
[ "$failed" -eq 0 ] && [ "$read" -gt 20 ]
