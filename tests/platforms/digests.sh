#!/bin/sh
# digests.sh PSIM [--update]: the runs of the shipped scenarios have the digests of digests.txt. Each scenario is run
# once, as `psim run` does it, under each model of the network. Of a study this is the run without the axes of
# [compare]. Digests under fluid hold on the kind of processor, and with the release of SimGrid, that the file names;
# those of scenarios that compress with Snappy hold with its release. Elsewhere this only counts them.
#   --update   writes the file
# A line of the file is SCENARIO MODEL DIGEST. Instead of a digest: `long`, if the run took more than ten seconds of a
# processor when the file was written; or `refused`, because its data is not shipped or a field excludes the model.
set -eu
export LC_ALL=C
unset PSIM_DATA || true
psim=$1 mode=${2:-}
case $mode in "" | --update) ;; *) echo "usage: digests.sh PSIM [--update]" >&2; exit 2 ;; esac
here=$(cd "$(dirname "$0")" && pwd)
scenarios=$here/../../scenarios recorded=$here/digests.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# run SCENARIO MODEL SECONDS: writes the run's document. Exit code 152: it takes more than SECONDS of a processor. Other
# exit codes of 2 and more: there is no run.
run() {
  (ulimit -S -t "$3" && exec "$psim" run "$scenarios/$1.toml" --json --set "cluster.network.model=$2") \
    >"$folder/document" 2>"$folder/said" </dev/null || return $?
}

# field NAME: the first field of this name in the document.
field() { sed -n "s/^ *\"$1\": \"\([^\"]*\)\".*/\1/p" "$folder/document" | head -n 1; }

# line_of SCENARIO MODEL: what the file should say of this run.
line_of() {
  code=0
  run "$1" "$2" 10 || code=$?
  case $code in
    0 | 1) echo "$1 $2 $(field digest)" ;;
    2) echo "$1 $2 refused" ;;
    152) echo "$1 $2 long" ;;
    *) echo "$1 $2: exit code $code" >&2 && cat "$folder/said" >&2 && return 1 ;;
  esac
}

for file in "$scenarios"/*.toml; do
  for model in fluid nic; do echo "$(basename "$file" .toml) $model"; done
done >"$folder/pairs"

# The kind of processor and the releases, which decide digests.
code=0
run worked_example nic 60 || code=$?
[ $code -le 1 ] || { echo "worked_example: exit code $code"; cat "$folder/said"; exit 1; }
machine="$(field cpu_family), SimGrid $(field simgrid)" snappy="Snappy $(field snappy)"
begin="# Digests of the shipped scenarios, written by digests.sh. They are of "

if [ "$mode" = --update ]; then
  echo "$begin$machine, $snappy" >"$folder/new"
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
there=$(sed -n "1s/^$begin//p" "$recorded")

# is_promised SCENARIO MODEL DIGEST: whether this program has to give the digest of the file. A scenario on one machine
# is fluid under every model, so it has one digest.
is_promised() {
  [ "$snappy" = "${there##*, }" ] || ! grep -q snappy "$scenarios/$1.toml" || return 1
  { [ "$2" = nic ] && ! grep -q "^$1 fluid $3\$" "$recorded"; } || [ "$machine" = "${there%, *}" ]
}

compared=0 differ=0 broken=0
grep -v '^#' "$recorded" >"$folder/lines"
while read -r scenario model digest; do
  case $digest in long | refused) continue ;; esac
  code=0
  run "$scenario" "$model" unlimited || code=$?
  compared=$((compared + 1))
  if [ "$(field digest)" != "$digest" ]; then
    differ=$((differ + 1))
    verdict="not promised here"
    if [ $code -gt 1 ] || is_promised "$scenario" "$model" "$digest"; then verdict=BROKEN broken=$((broken + 1)); fi
    echo "$scenario under $model: digest $(field digest), recorded $digest, exit code $code: $verdict"
  fi
done <"$folder/lines"
echo "$compared runs compared, $differ differ, $broken of them broke the promise"
[ $broken -eq 0 ] && [ $compared -gt 0 ]
