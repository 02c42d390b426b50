#!/bin/sh
# Makes each mistake of mutants.txt in turn, and shows that the tests that stand beside it find it.
#   run.sh PSIM_SOURCE [NAME...]      all mutants, or those whose names begin with a NAME
#   run.sh PSIM_SOURCE --check        whether each mistake still applies to the sources
# All mistakes are planted into one copy of the sources (build/mutants/source), each behind a switch, and built once;
# PSIM_MUTANT chooses one as a program starts. A mutant is killed when its tests fail, or do not end within two minutes.
# Exit code 0: all are killed; 1: one survives, a test fails without any mutant, or a mistake does not apply; 3: the
# build fails.
set -u
export LC_ALL=C

root=$(cd "$1" && pwd) || exit 2
shift
copy=$root/build/mutants/source build=$root/build/mutants/build
table=$root/tests/mutants/mutants.txt
longest=120  # seconds

# Plants all mistakes; those files are written that differ from what is there, so that a build is short.
plant() {
  fresh=$root/build/mutants/fresh
  rm -rf "$fresh"
  mkdir -p "$fresh" "$copy"
  (cd "$root" && find . -path ./build -prune -o -path ./.git -prune -o -type f -print0 |
    xargs -0 cp --parents -t "$fresh") || return 1
  awk -v source="$root" -v target="$fresh" -f "$root/tests/mutants/plant.awk" "$table" || return 1
  (cd "$copy" && find . -type f) | while read -r file; do [ -f "$fresh/$file" ] || rm "$copy/$file"; done
  (cd "$fresh" && find . -type f) | while read -r file; do
    cmp -s "$fresh/$file" "$copy/$file" || { mkdir -p "$copy/${file%/*}" && cp "$fresh/$file" "$copy/$file"; }
  done
  rm -rf "$fresh"
}
if [ "${1:-}" = --check ]; then exec awk -v source="$root" -f "$root/tests/mutants/plant.awk" "$table"; fi

# tests "KIND: FILTER": runs them. FILTER may be followed by " / SECTION" of the test.
tests() {
  filter=${1#*: }
  section=
  case $filter in *' / '*) section=${filter#* / } filter=${filter% / *} ;; esac
  case $1 in
    unit:*) timeout $longest "$build/tests/psim_unit" "$filter" ${section:+-c "$section"} ;;
    system:*) timeout $longest "$build/tests/psim_system" "$filter" ${section:+-c "$section"} ;;
    refused:*) timeout $longest sh "$copy/tests/golden/run.sh" "$build/psim" "$copy/tests/bad_scenarios" "$filter" ;;
    effects:*) timeout $longest "$build/tests/psim_effects" $filter ;;
    *) echo "no such kind of tests: $1" && return 99 ;;
  esac
}

# Catch takes a filter that fits no test for a success.
finds_tests() {
  case $1 in
    unit:*) program=psim_unit ;;
    system:*) program=psim_system ;;
    *) return 0 ;;
  esac
  filter=${1#*: }
  "$build/tests/$program" --list-tests "${filter% / *}" 2>&1 | grep -qE '^[1-9][0-9]* (matching )?test cases?'
}

seconds_since() { date +%s.%N | awk -v begin="$1" '{ printf "%.1f", $1 - begin }'; }

case ${PSIM_MUTANTS_DO:-} in
  without)  # run.sh PSIM_SOURCE SELECTION
    if ! finds_tests "$1"; then
      echo "$1: no such tests"
      exit 1
    fi
    out=$(tests "$1" 2>&1) && code=0 || code=$?
    [ "$code" = 0 ] || printf 'fails without any mutant: %s\n%s\n' "$1" "$out"
    exit "$code"
    ;;
  with)  # run.sh PSIM_SOURCE "NAME TESTS"
    name=${1%% *} selection=${1#* }
    begin=$(date +%s.%N)
    PSIM_MUTANT=$name tests "$selection" >/dev/null 2>&1 && verdict=SURVIVED || verdict=killed
    printf '%-32s %-9s %6s s   %s\n' "$name" "$verdict" "$(seconds_since "$begin")" "$selection"
    exit 0
    ;;
esac

plant || exit 1
log=$root/build/mutants/build.log
if [ ! -f "$build/build.ninja" ]; then
  cmake -S "$copy" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG -DPSIM_MUTANTS" \
    -DPSIM_UNITY=ON ${PSIM_CMAKE_ARGS:-} >"$log" 2>&1 || { cat "$log" >&2; exit 3; }
fi
echo "psim: building psim with mistakes to choose from; the first time takes some minutes" >&2
ninja -k 0 -C "$build" psim-further psim_unit psim_system psim_effects >"$log" 2>&1 || { cat "$log" >&2; exit 3; }

scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
begin=$(date +%s.%N)
jobs=$(nproc)
[ $# -gt 0 ] || set -- ''
# Lines: a mutant's name, and its tests.
for prefix; do awk -v prefix="$prefix" '/^[^ #]/ { name = $0 } /^  tests / && index(name, prefix) == 1 {
  print name " " substr($0, 9) }' "$table"; done | sort -u >"$scratch/chosen"
[ -s "$scratch/chosen" ] || { echo "no such mutant: $*" >&2; exit 2; }

cut -d ' ' -f 2- "$scratch/chosen" | sort -u | tr '\n' '\0' |
  PSIM_MUTANTS_DO=without xargs -0 -n 1 -P "$jobs" sh "$0" "$root" || exit 1
tr '\n' '\0' <"$scratch/chosen" |
  PSIM_MUTANTS_DO=with xargs -0 -n 1 -P "$jobs" sh "$0" "$root" | tee "$scratch/verdicts"

survived=$(grep -c ' SURVIVED ' "$scratch/verdicts")
echo "$(grep -c ' killed ' "$scratch/verdicts") killed, $survived survived, in $(seconds_since "$begin") s"
[ "$survived" -eq 0 ] || { echo "survived:"; grep ' SURVIVED ' "$scratch/verdicts"; exit 1; }
[ "$(wc -l <"$scratch/verdicts")" -eq "$(wc -l <"$scratch/chosen")" ] || { echo "some were not tried"; exit 3; }
