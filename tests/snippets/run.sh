#!/bin/sh
# The programs that stand in a study's folder run there as they are.
#   run.sh PROGRAM KIND SOURCE     PROGRAM writes studies; KIND: python, pandas, r, latex, sqlite, reanalysis
# Exit code 77: what KIND needs is not installed.
set -eu
program=$1
kind=$2
source=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" "$folder"
skip() { echo "skipped: $1"; exit 77; }
has() { command -v "$1" >/dev/null || skip "$1 is not installed (Debian: $2)"; }

# What analysis.py and analysis.R say alike. Values: by hand, from tests/snippets/main.cpp.
expect() {
  grep -qF "cluster.network, in Gbps = 1, k = a" "$1" || grep -qxF "1, a" "$1"
  grep -qE '^  bsp +9 runs, 6\.5 s, target reached by 9/9$' "$1"
  grep -qE '^  50% "top-k", a_b & \{c\} \\d #1 \$x\^2\$ ~ +9 runs, 2\.333 s, target reached by 9/9, 0\.357 of the baseline.s time$' "$1"
  grep -qE '^  asp +9 runs, >= 17\.33 s, target reached by 3/9, 2\.600 of the baseline.s time up to 20 s$' "$1"
}
# Where the baseline's run got stuck there is nothing to divide by.
expect_no_ratio() {
  grep -qiE '^  wait +2 runs, inf s$' "$1"
  [ "$(grep -cE "^  (remove|at once) +2 runs, [12] s; no ratio to the baseline's time: a run got stuck" "$1")" = 2 ]
}
# Names that look like numbers or like nothing stay apart: 40 cells have 40 times.
expect_names() {
  [ "$(sed -n 's/^  .* 1 runs, \([0-9]*\) s.*/\1/p' "$1" | sort -un | wc -l)" = 40 ]
  grep -qE '^  NA +1 runs, ' "$1" && grep -qE '^  01 +1 runs, ' "$1"
}
python_says() {
  (cd "$folder/target" && "$1" analysis.py) >"$folder/out"
  expect "$folder/out"
  (cd "$folder/plain" && "$1" analysis.py) | grep -qE '^  as it is +1 runs, 3 s$'
  (cd "$folder/stuck" && "$1" analysis.py) >"$folder/out-stuck"
  expect_no_ratio "$folder/out-stuck"
  (cd "$folder/names" && "$1" analysis.py) >"$folder/out-names"
  expect_names "$folder/out-names"
}

case $kind in
  python)
    has python3 python3
    # A module that cannot be imported stands before pandas, if that is there.
    mkdir "$folder/empty" && echo 'raise ImportError' >"$folder/empty/pandas.py"
    export PYTHONPATH="$folder/empty"
    python_says python3
    ;;
  pandas)
    [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import pandas' 2>/dev/null || skip "pandas is not installed (Debian: python3-pandas)"
    python_says /usr/bin/python3
    grep -qE '^asp .* 0\.3636' "$folder/out"
    [ "$(grep -cE '^(1|01|1\.0|NA|NULL|nan|TRUE|1e0) +(1|01|1\.0|NA|null) ' "$folder/out-names")" = 40 ]
    ;;
  r)
    has Rscript r-base-core
    (cd "$folder/target" && Rscript analysis.R) >"$folder/out"
    expect "$folder/out"
    [ -s "$folder/target/losses.pdf" ]
    (cd "$folder/plain" && Rscript analysis.R) | grep -qE '^  as it is +1 runs, 3 s$'
    (cd "$folder/stuck" && Rscript analysis.R) >"$folder/out-stuck"
    expect_no_ratio "$folder/out-stuck"
    (cd "$folder/names" && Rscript analysis.R) >"$folder/out-names"
    expect_names "$folder/out-names"
    ;;
  latex)
    has pdflatex texlive-pictures
    cd "$folder/target"
    for text in table curves; do
      pdflatex -interaction=nonstopmode -halt-on-error $text.tex >out 2>&1 || { tail -40 out; exit 1; }
      [ -s $text.pdf ]
      ! grep -E '^(!|Package pgfplots Warning)' out
    done
    ;;
  sqlite)
    has sqlite3 sqlite3
    [ "$(sqlite3 "$folder/target/study.db" 'PRAGMA integrity_check; SELECT count(*) FROM runs')" = "$(printf 'ok\n54')" ]
    ;;
  reanalysis)
    has python3 python3
    for study in target plain stuck; do python3 "$source/tests/snippets/reanalyse_study.py" "$folder/$study"; done
    ;;
esac
