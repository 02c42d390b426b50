#!/bin/sh
# How far predictions of `psim what-if` are from re-runs, over the scenarios that come with psim (docs/what-if.md).
#   errors.sh PSIM ROOT [SCENARIO...]
# Prints a line for each change that was predicted and run again: scenario, change, seconds as it was, predicted,
# of the re-run, error as a share, and how far the unchanged graph is from the run's own dates. Then the table of their
# distribution, of runs without faults and with, and the largest error of each scenario without faults where it is above
# 4 %. Left out: what needs data to be fetched, and what is large.
set -u
export LC_ALL=C
psim=$1 root=$2
shift 2
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
[ $# -gt 0 ] || set -- $(ls "$root/scenarios" | sed -n 's/\.toml$//p' |
  grep -vxE 'fashion_mnist|thousand_workers|ten_thousand_nodes')

# row TITLE PATTERN: a row of the table, of the errors (column 6) of the changes (column 2) that PATTERN finds.
row() {
  awk -F '\t' -v pattern="$2" '$2 ~ pattern { print $6 < 0 ? -$6 : $6 }' | sort -g | awk -v title="$1" '
    { e[NR] = $1; exact += $1 <= 1e-9; within += $1 <= 0.01 }
    function percent(share) { return sprintf(share >= 0.1 ? "%.0f %%" : "%.2g %%", 100 * share) }
    function at(p) { n = int(p * NR) + 1; return percent(e[n < NR ? n : NR]) }
    END {
      if (NR == 0) exit  # no scenario has this change
      printf "| %s | %d | %d | %d |", title, NR, exact, within
      printf " %s | %s | %s | %s |\n", at(0.5), at(0.75), at(0.9), percent(e[NR])
    }'
}
scenarios() { cut -f1 "$1" | sort -u | wc -l; }
table() {
  row "**$(scenarios "$scratch/without") scenarios without faults**" . <"$scratch/without"
  row bandwidth ^bandwidth <"$scratch/without"
  row latency ^latency <"$scratch/without"
  row 'computing of all' '^compute=[0-9]' <"$scratch/without"
  row 'computing of one worker' '^compute=worker' <"$scratch/without"
  row no-straggler ^no-straggler <"$scratch/without"
  row "server's work" ^server-work <"$scratch/without"
  row 'overhead at the ends' ^overhead <"$scratch/without"
  row 'TCP window' ^window <"$scratch/without"
  row "**$(scenarios "$scratch/with") scenarios with faults**" . <"$scratch/with"
  row no-faults ^no-faults <"$scratch/with"
}
largest() {
  awk -F '\t' '{ e = $6 < 0 ? -$6 : $6; if (e > most[$1]) most[$1] = e }
    END {
      for (name in most) if (most[name] > 0.04)
        printf most[name] < 0.1 ? "%s (%.1f %%)\n" : "%s (%.0f %%)\n", name, 100 * most[name]
    }' "$scratch/without" | sort
}

for name; do
  "$psim" run "$root/scenarios/$name.toml" --trace events --out "$scratch/run" --force >/dev/null 2>&1
  [ $? -le 1 ] || { echo "$name: no run" >&2; continue; }
  faults=without
  ! grep -q '^\[\[fault\]\]' "$scratch/run/scenario.toml" || faults=with
  for change in bandwidth=2x bandwidth=0.5x latency=0.5x latency=2x compute=0.5x compute=2x 'compute=worker 0:25%' \
    'compute=worker 1:50%' 'compute=worker 1:200%' 'compute=worker 1:400%' no-straggler no-faults \
    server-work=0.5x server-work=2x overhead=0.5x overhead=2x window=2x window=0.5x; do
    "$psim" what-if "$scratch/run" "$change" --json >"$scratch/answer" 2>/dev/null || continue
    jq -r --arg name "$name" '. as $all | .changes[] | select(.error != null) |
      [$name, .change, $all.original.seconds, .predicted_s, .rerun_s, .error, $all.replay_error] | @tsv' \
      "$scratch/answer" | tee -a "$scratch/$faults"
  done
done
touch "$scratch/without" "$scratch/with"
table
largest
