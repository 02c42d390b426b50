#!/bin/sh
# docs/what-if.md has the table that tests/what_if/errors.sh measures, and names the scenarios with large errors.
#   what_if.sh PSIM SOURCE
# Exit code 77: jq is not installed.
set -u
psim=$1 source=$2
command -v jq >/dev/null || { echo "skipped: jq is not installed (Debian: jq)"; exit 77; }
page=$source/docs/what-if.md
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
sh "$source/tests/what_if/errors.sh" "$psim" "$source" >"$scratch/measured"
tr -s '\n ' ' ' <"$page" >"$scratch/text"
grep '^| ' "$scratch/measured" | while IFS= read -r row; do
  grep -qxF -- "$row" "$page" || echo "docs/what-if.md: tests/what_if/errors.sh measures another row: $row"
done >"$scratch/wrong"
sed -n '/^| no-faults/,$p' "$scratch/measured" | sed 1d | while IFS= read -r error; do
  grep -qF -- "$error" "$scratch/text" || echo "docs/what-if.md: nothing about the large error of $error"
done >>"$scratch/wrong"
[ "$(grep -c '^| ' "$scratch/measured")" = 10 ] || echo "tests/what_if/errors.sh: fewer rows" >>"$scratch/wrong"
cat "$scratch/wrong"
[ ! -s "$scratch/wrong" ]
