#!/bin/sh
# results.sh PSIM: runs a dozen scenarios of this repository. Prints the final weights' hash and the simulated time of
# the bulk-synchronous ones, a line each, for compare.sh. The others crash, partition or follow dates: of these every
# promise holds.
set -eu
cd "$(dirname "$0")/../.."
psim=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for scenario in worked_example quickstart stragglers clicks bandwidth topologies two_jobs; do
  "$psim" run scenarios/$scenario.toml --json --set consistency.model=bsp >"$folder/summary.json"
  weights=$(sed -n 's/^ *"weights": "\([0-9a-f]*\)".*/\1/p' "$folder/summary.json" | tail -n 1)
  seconds=$(sed -n 's/^  "sim_time_s": \([^,]*\),*/\1/p' "$folder/summary.json" | head -n 1)
  echo "$scenario ${weights:-none} $seconds"
done
for scenario in own_model tasks server_crash slow_and_crash partition; do
  "$psim" run scenarios/$scenario.toml --trace events --out "$folder/run" --force >"$folder/said" 2>&1 &&
    "$psim" verify "$folder/run" >>"$folder/said" 2>&1 || { cat "$folder/said" >&2; exit 1; }
done
