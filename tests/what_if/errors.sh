#!/bin/sh
# How far predictions of `psim what-if` are from re-runs, over the scenarios that come with psim (docs/what-if.md).
#   errors.sh PSIM ROOT [SCENARIO...]
# Prints a line for each change that was predicted and run again: scenario, change, seconds as it was, predicted,
# of the re-run, error as a share, and how far the unchanged graph is from the run's own dates. Then their
# distribution, of runs without faults and with. Left out: what needs data to be fetched, and what is large.
set -u
export LC_ALL=C
psim=$1 root=$2
shift 2
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
[ $# -gt 0 ] || set -- $(ls "$root/scenarios" | sed -n 's/\.toml$//p' |
  grep -vxE 'fashion_mnist|thousand_workers|ten_thousand_nodes')

distribution() {
  sort -g | awk -v name="$1" '{ e[NR] = $1; exact += $1 <= 1e-9; within += $1 <= 0.01 }
    function at(p) { n = int(p * NR) + 1; return e[n < NR ? n : NR] }
    END { if (NR) printf "%s: %d predictions, %d exact, %d within 1 %%; median %.2g, 75 %%: %.2g, 90 %%: %.2g, most %.2g\n",
            name, NR, exact, within, at(0.5), at(0.75), at(0.9), e[NR] }'
}

for name; do
  "$psim" run "$root/scenarios/$name.toml" --trace events --out "$scratch/run" --force >/dev/null 2>&1
  [ $? -le 1 ] || { echo "$name: no run" >&2; continue; }
  faults=without
  ! grep -q '^\[\[fault\]\]' "$scratch/run/scenario.toml" || faults=with
  for change in bandwidth=2x bandwidth=0.5x latency=0.5x latency=2x compute=0.5x compute=2x 'compute=worker 0:25%' \
    'compute=worker 1:50%' 'compute=worker 1:200%' 'compute=worker 1:400%' no-straggler no-faults; do
    "$psim" what-if "$scratch/run" "$change" --json >"$scratch/answer" 2>/dev/null || continue
    jq -r --arg name "$name" '. as $all | .changes[] | select(.error != null) |
      [$name, .change, $all.original.seconds, .predicted_s, .rerun_s, .error, $all.replay_error] | @tsv' \
      "$scratch/answer" | tee -a "$scratch/$faults"
  done
done
for faults in without with; do
  [ -f "$scratch/$faults" ] || continue
  cut -f6 "$scratch/$faults" | awk '{ print $1 < 0 ? -$1 : $1 }' | distribution "$faults faults"
done
