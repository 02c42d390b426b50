#!/bin/sh
# Transcripts of the shipped binary: what a case says, word for word, is compared with NAME.expected
# beside it.
#   run.sh PSIM FOLDER [--update] [PREFIX...]
# A case is NAME.toml (`psim check NAME.toml`) or NAME.cmd (a line of shell that calls psim). The transcript
# is stdout, then stderr, then `exit CODE`. Cases run in a copy of FOLDER, which must come out as it went in.
# Cases may stand in folders of FOLDER, by subject; "files" has what they read.
# --update rewrites what is expected; a PREFIX picks the cases whose names begin with it.
set -u
export LC_ALL=C
unset PSIM_DATA COLUMNS

psim=$1 folder=$2
shift 2
update=false
if [ "${1:-}" = --update ]; then
  update=true
  shift
fi
[ $# -gt 0 ] || set -- ''

scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
mkdir "$scratch/bin"
ln -s "$psim" "$scratch/bin/psim"
PATH=$scratch/bin:$PATH
cp -R "$folder" "$scratch/cases"
[ ! -d "$folder/../../scenarios" ] || cp -R "$folder/../../scenarios" "$scratch/cases/scenarios"
cd "$scratch/cases" || exit 3

files() { find . | sort; }
files >"$scratch/before"

: >"$scratch/all"
ran=0 failed=0
fail() {
  failed=$((failed + 1))
  echo "FAILED $1: $2"
}

# transcript COMMAND...
transcript() {
  "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  code=$?
  cat "$scratch/out" "$scratch/err"
  echo "exit $code"
}

run_case() {
  case=$1 name=${1%.*}
  ran=$((ran + 1))
  if [ "${case##*.}" = cmd ]; then
    transcript sh "./$case" >"$scratch/actual"
  else
    transcript psim check "$case" >"$scratch/actual"
    transcript psim run "$case" >"$scratch/of_run"
    cmp -s "$scratch/actual" "$scratch/of_run" || fail "$name" "psim run and psim check say different things"
  fi
  files | cmp -s "$scratch/before" - || {
    fail "$name" "files were made or removed:"
    files | diff "$scratch/before" -
    files >"$scratch/before"
  }
  cat "$scratch/actual" >>"$scratch/all"
  if $update; then
    cmp -s "$scratch/actual" "$folder/$name.expected" || cp "$scratch/actual" "$folder/$name.expected"
  elif ! diff -u "$folder/$name.expected" "$scratch/actual" >"$scratch/diff" 2>&1; then
    fail "$name" "another transcript (tests/golden/run.sh PSIM $folder --update $name accepts it):"
    cat "$scratch/diff"
  fi
}

for prefix; do
  for case in "$prefix"*.toml "$prefix"*.cmd "$prefix"*/*.cmd "$prefix"*/*.toml; do
    case $case in files/* | scenarios/*) continue ;; esac  # what cases read
    case $case in *.toml) [ ! -f "${case%.toml}.cmd" ] || continue ;; esac
    [ ! -f "$case" ] || run_case "$case"
  done
done
# Every kind of error that was named must be explained.
for kind in $(sed -n 's/^error\[\([a-z-]*\)\].*/\1/p' "$scratch/all" | sort -u); do
  psim explain "$kind" >"$scratch/out" 2>&1 || fail "$kind" "psim explain does not know this kind of error"
done
[ "$ran" -gt 0 ] || fail "$*" "no such case"
echo "$ran cases, $failed failed"
[ "$failed" -eq 0 ]
