#!/bin/sh
# compare.sh RESULTS RESULTS: two releases end with the same weights, bit for bit, and at the same simulated time,
# to 1e-9 of it. Exit code 77: a release could not run here.
for results in "$@"; do
  [ -s "$results" ] || { echo "skipped: $results is not there"; exit 77; }
done
exec awk '
  NR == FNR { weights[$1] = $2; seconds[$1] = $3; next }
  {
    ++compared
    difference = $3 - seconds[$1]
    if (difference < 0) difference = -difference
    if ($2 != weights[$1] || difference > 1e-9 * seconds[$1]) {
      printf "%s: weights %s and %s, %s s and %s s\n", $1, weights[$1], $2, seconds[$1], $3
      bad = 1
    }
  }
  END { printf "%d runs compared\n", compared; exit bad || !compared }' "$1" "$2"
