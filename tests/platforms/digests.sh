#!/bin/sh
# digests.sh PSIM [--update | --short]: the runs of the shipped scenarios have the digests of digests.txt. Each
# scenario is run once, as `psim run` does it, under each model of the network. Digests under nic hold on every
# machine. Digests under fluid hold on the kind of processor, and with the release of SimGrid, that the file names;
# elsewhere they are not compared.
#   --short    only runs that took at most two seconds of a processor when the file was written
#   --update   writes the file. A scenario with [compare] is a study: its run stands for it if it is short. Other runs
#              may take two minutes of a processor.
# A line of the file is SCENARIO MODEL DIGEST. Instead of a digest: `study`, which is too long; `long`; or `refused`,
# because data is not shipped or a field belongs to the other model. Short runs have `short` behind the digest.
set -eu
export LC_ALL=C
unset PSIM_DATA || true
psim=$1 mode=${2:-}
case $mode in "" | --update | --short) ;; *) echo "usage: digests.sh PSIM [--update | --short]" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
scenarios=$here/../../scenarios recorded=$here/digests.txt
short=2 longest=120  # seconds of a processor
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# run SCENARIO MODEL SECONDS: writes the run's document. Exit code 152: it takes more than SECONDS of a processor. Other
# exit codes of 2 and more: there is no run.
run() {
  (ulimit -S -t "$3" && exec "$psim" run "$scenarios/$1.toml" --json --set "cluster.network.model=$2") \
    >"$folder/document" 2>"$folder/said" </dev/null || return $?
}

# Puts the processor seconds of all children so far into `spent`.
count() {
  times >"$folder/times"
  spent=$(tail -n 1 "$folder/times" | awk '{ for (i = 1; i <= 2; ++i) { split($i, t, /[ms]/); s += 60 * t[1] + t[2] } print s }')
}

# field NAME: the first field of this name in the document.
field() { sed -n "s/^ *\"$1\": \"\([^\"]*\)\".*/\1/p" "$folder/document" | head -n 1; }

# The kind of processor and the release of SimGrid, which digests under fluid need.
code=0
run worked_example nic 60 || code=$?
[ $code -le 1 ] || { echo "worked_example: exit code $code"; cat "$folder/said"; exit 1; }
machine="$(field cpu_family), SimGrid $(field simgrid)"

# line_of SCENARIO MODEL: what the file should say of this run.
line_of() {
  limit=$longest other=long code=0 mark=
  if grep -q '^\[compare' "$scenarios/$1.toml"; then limit=$short other=study; fi
  count && before=$spent
  run "$1" "$2" "$limit" || code=$?
  count
  mark=$(echo "$before $spent $short" | awk '$2 - $1 <= $3 { print " short" }')
  case $code in
    0 | 1) echo "$1 $2 $(field digest)$mark" ;;
    2) echo "$1 $2 refused" ;;
    152) echo "$1 $2 $other" ;;
    *) echo "$1 $2: exit code $code" >&2 && cat "$folder/said" >&2 && return 1 ;;
  esac
}

# All pairs of a scenario and a model.
pairs() {
  for file in "$scenarios"/*.toml; do
    for model in fluid nic; do echo "$(basename "$file" .toml) $model"; done
  done
}

pairs >"$folder/pairs"
if [ "$mode" = --update ]; then
  echo "# Digests of the shipped scenarios, written by digests.sh; those of fluid: $machine" >"$folder/new"
  while read -r scenario model; do line_of "$scenario" "$model" >>"$folder/new"; done <"$folder/pairs"
  cp "$folder/new" "$recorded"
  exit 0
fi

sed -n 's/^\([^ #]* [^ ]*\) .*/\1/p' "$recorded" >"$folder/recorded"
if ! diff "$folder/recorded" "$folder/pairs" >"$folder/difference"; then
  echo "digests.txt has other scenarios; --update writes it:"
  cat "$folder/difference"
  exit 1
fi
compared=0 wrong=0 elsewhere=0
same_machine=false
if grep -qxF "# Digests of the shipped scenarios, written by digests.sh; those of fluid: $machine" "$recorded"; then
  same_machine=true
fi
grep -v '^#' "$recorded" >"$folder/lines"
while read -r scenario model digest mark; do
  case $digest in study | long | refused) continue ;; esac
  [ "$mode" != --short ] || [ "$mark" = short ] || continue
  if [ "$model" = fluid ] && ! $same_machine; then
    elsewhere=$((elsewhere + 1))
    continue
  fi
  code=0
  run "$scenario" "$model" unlimited || code=$?
  compared=$((compared + 1))
  if [ $code -gt 1 ] || [ "$(field digest)" != "$digest" ]; then
    wrong=$((wrong + 1))
    echo "$scenario under $model: digest $(field digest), recorded $digest, exit code $code"
  fi
done <"$folder/lines"
echo "$compared runs compared, $wrong differ; $elsewhere under fluid are of another machine than this: $machine"
[ $wrong -eq 0 ] && [ $compared -gt 0 ]
