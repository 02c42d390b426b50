#!/bin/sh
# Makes each mistake of mutants.txt in turn, and shows that the tests that stand beside it find it.
#   run.sh PSIM_SOURCE [NAME...]      all mutants, or those whose names begin with a NAME
# All are in one build (build/mutants); PSIM_MUTANT chooses one as a program starts. A mutant is killed when
# its tests fail, or do not end within two minutes. Exit code 0: all are killed; 1: one survives, or a test fails
# without any mutant; 3: the build fails.
set -u
export LC_ALL=C

root=$(cd "$1" && pwd) || exit 2
shift
build=$root/build/mutants
table=$root/tests/mutants/mutants.txt
longest=120  # seconds

# tests "KIND: FILTER": runs them. FILTER may be followed by " / SECTION" of the test.
tests() {
  filter=${1#*: }
  section=
  case $filter in *' / '*) section=${filter#* / } filter=${filter% / *} ;; esac
  case $1 in
    unit:*) timeout $longest "$build/tests/psim_unit" "$filter" ${section:+-c "$section"} ;;
    system:*) timeout $longest "$build/tests/psim_system" "$filter" ${section:+-c "$section"} ;;
    refused:*) timeout $longest sh "$root/tests/golden/run.sh" "$build/psim" "$root/tests/bad_scenarios" "$filter" ;;
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
  with)  # run.sh PSIM_SOURCE LINE-OF-THE-TABLE
    name=$(echo "$1" | sed 's/ *|.*//')
    selection=$(echo "$1" | sed 's/^[^|]*| *//; s/ *|[^|]*$//')
    begin=$(date +%s.%N)
    PSIM_MUTANT=$name tests "$selection" >/dev/null 2>&1 && verdict=SURVIVED || verdict=killed
    printf '%-32s %-9s %6s s   %s\n' "$name" "$verdict" "$(seconds_since "$begin")" "$selection"
    exit 0
    ;;
esac

if [ ! -f "$build/build.ninja" ]; then
  mkdir -p "$root/build"
  (cd "$root" && cmake --preset mutants -DPSIM_UNITY=ON ${PSIM_CMAKE_ARGS:-} >build/mutants.log 2>&1) || { cat "$root/build/mutants.log" >&2; exit 3; }
fi
echo "psim: building psim with mistakes to choose from; the first time takes some minutes" >&2
ninja -C "$build" psim psim_unit psim_system >"$root/build/mutants.log" 2>&1 || { cat "$root/build/mutants.log" >&2; exit 3; }

scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
begin=$(date +%s.%N)
jobs=$(nproc)
[ $# -gt 0 ] || set -- ''
for prefix; do grep -E "^$prefix[^#|]*\|" "$table"; done | sort -u >"$scratch/chosen"
[ -s "$scratch/chosen" ] || { echo "no such mutant: $*" >&2; exit 2; }

sed 's/^[^|]*| *//; s/ *|[^|]*$//' "$scratch/chosen" | sort -u | tr '\n' '\0' |
  PSIM_MUTANTS_DO=without xargs -0 -n 1 -P "$jobs" sh "$0" "$root" || exit 1
tr '\n' '\0' <"$scratch/chosen" |
  PSIM_MUTANTS_DO=with xargs -0 -n 1 -P "$jobs" sh "$0" "$root" | tee "$scratch/verdicts"

survived=$(grep -c ' SURVIVED ' "$scratch/verdicts")
echo "$(grep -c ' killed ' "$scratch/verdicts") killed, $survived survived, in $(seconds_since "$begin") s"
[ "$survived" -eq 0 ] || { echo "survived:"; grep ' SURVIVED ' "$scratch/verdicts"; exit 1; }
[ "$(wc -l <"$scratch/verdicts")" -eq "$(wc -l <"$scratch/chosen")" ] || { echo "some were not tried"; exit 3; }
