#!/bin/sh
# levels.sh PSIM: psim replays a run that it recorded with its narrowest vectors (PSIM_LEVEL=v2) with the widest of
# this processor, and the other way round.
set -eu
unset PSIM_LEVEL || true
psim=$1
scenarios=$(cd "$(dirname "$0")/../../scenarios" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# record NAME SETTING...: a run in the folder NAME.
record() {
  out=$folder/$1
  shift
  "$psim" run "$@" --out "$out" --force >"$folder/said" 2>&1 || { cat "$folder/said"; return 1; }
}
replay() {
  "$psim" replay "$folder/$1" >"$folder/said" 2>&1 && grep -q '^same run: ' "$folder/said" ||
    { echo "$2"; cat "$folder/said"; return 1; }
}

# shows SETTING...: checks one run in both directions.
shows() {
  (export PSIM_LEVEL=v2 && record narrow "$@")
  replay narrow "recorded with v2, replayed with the best: $*"
  record wide "$@"
  (export PSIM_LEVEL=v2 && replay wide "recorded with the best, replayed with v2: $*")
}
for model in fluid nic; do
  shows "$scenarios/quickstart.toml" --set cluster.network.model=$model --set training.epochs=2
  shows "$scenarios/quickstart.toml" --set cluster.network.model=$model --set training.epochs=2 \
    --set consistency.model=asp --set training.optimizer=adam --set model.activation=tanh \
    --set model.precision=float64
  shows "$scenarios/clicks.toml" --set cluster.network.model=$model --set training.epochs=1
done
