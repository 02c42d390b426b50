#!/bin/sh
# Folders are layers and arrows point one way; files and functions stay small; some words are banned, each
# with its replacement. Prints every offence as file:line and fails when there is one.
set -u
cd "$1" || exit 2
offences=$(mktemp)
trap 'rm -f "$offences" "$offences.source" "$offences.table"' EXIT
ours() { git ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null || find "$@" -type f; }
sources() { ours "$@" | grep -E '\.(cpp|hpp)$'; }

# allow FOLDER PREFIX...: what files of FOLDER may include of ours.
allow() {
  folder=$1
  shift
  pattern=$(printf '|%s' "$@" | cut -c2-)
  for file in $(sources "$folder"); do
    grep -nE '#include "(model|sim|analysis)/' "$file" | grep -vE "#include \"($pattern)" |
      sed "s|^|$file:|; s|\$|   not allowed in $folder/|"
  done
}

{
  allow model model/
  allow sim/protocol model/ sim/protocol/
  # The rooms of a scenario, each upon those before it; the folder itself has the way from a file to a run.
  rooms="model/ sim/protocol/"
  for room in text spec fields reference reading checking; do
    rooms="$rooms sim/scenario/$room/"
    allow sim/scenario/$room $rooms
  done
  allow sim/scenario model/ sim/protocol/ sim/scenario/
  allow sim/record model/ sim/protocol/ sim/scenario/ sim/record/
  allow sim/cluster model/ sim/protocol/ sim/scenario/ sim/record/ sim/cluster/
  allow sim/nodes model/ sim/protocol/ sim/scenario/ sim/record/ sim/cluster/ sim/nodes/
  allow sim/fuzz model/ sim/protocol/ sim/scenario/ sim/fuzz/
  for room in sim/runs sim/study; do
    rooms="model/ analysis/ sim/protocol/ sim/scenario/ sim/record/ sim/cluster/ sim/simulation.hpp sim/runs/"
    [ $room = sim/runs ] || rooms="$rooms sim/study/"
    allow $room $rooms
    grep -rnE 'CLI/|fmt::print|\<say(_text)?\(' $room --include='*.?pp' | sed 's|$|   a library prints nothing|'
  done
  allow sim/calibrate model/ analysis/ sim/scenario/ sim/record/ sim/simulation.hpp sim/runs/ sim/calibrate/
  allow sim/library model/ sim/runs/ sim/scenario/ sim/record/ sim/library/
  allow sim/include model/ sim/protocol/ sim/scenario/spec/ sim/record/
  allow sim/apps model/ sim/ analysis/
  allow analysis/statistics analysis/statistics/ model/base/random.hpp
  allow analysis analysis/ model/base/ model/data/text.hpp \
    sim/protocol/cause.hpp sim/protocol/resolved_rule.hpp sim/record/event_fields.hpp sim/record/facts.hpp \
    sim/record/spans.hpp sim/record/summary_ sim/scenario/spec/units.hpp

  # Each mistake of the table still applies, once.
  sh tests/mutants/run.sh . --check | sed 's|^|tests/mutants/mutants.txt: |'

  for file in $(sources model sim analysis); do
    case $file in
      sim/cluster/* | sim/nodes/*) ;;
      *) grep -n '#include <simgrid' "$file" | sed "s|^|$file:|; s|\$|   SimGrid lives in sim/cluster and sim/nodes|" ;;
    esac
  done

  for file in $(sources model sim analysis tests); do
    awk -v file="$file" '
      length($0) > 110 && $0 !~ /"/ { printf "%s:%d: line of %d characters, limit 110\n", file, FNR, length($0) }
      # A function: a line that ends in "{" at the margin, up to the "}" at the margin.
      /^[A-Za-z].*\) (const |noexcept |override )*\{$/ || /^[A-Za-z].*\) *:.*\{$/ || /^    : .*\{$/ { begin = FNR }
      /^\}/ { if (begin && FNR - begin > 60) printf "%s:%d: function of %d lines, limit 60\n", file, begin, FNR - begin; begin = 0 }
      END { if (FNR > 800) printf "%s: file of %d lines, limit 800\n", file, FNR }' "$file"
  done

  for file in $(sources tests | grep -vx tests/support/catch.hpp); do
    grep -n '#include <catch2' "$file" | sed "s|^|$file:|; s|\$|   use tests/support/catch.hpp|"
  done

  # CMake cuts a list at semicolons, and Catch takes brackets for tags: ctest would find no such test.
  for file in $(sources tests); do
    awk -v file="$file" '
      /^ *TEST_CASE\(/ { name = 1 }
      name { match($0, /"[^"]*"/); text = substr($0, RSTART, RLENGTH)
        if (text ~ /[][;\\]/) printf "%s:%d: no ; [ ] in the name of a test\n", file, FNR
        if (RLENGTH > 0) name = 0 }' "$file"
  done

  ban() {  # ban PATTERN REPLACEMENT [ALLOWED FILE]
    sources model sim analysis | grep -vxF "${3:-none}" | xargs grep -nHE "$1" | sed "s|\$|   use $2|"
  }
  ban '\brand\(|random_device|std::mt19937|_distribution<' 'Stream (model/base/random.hpp)'
  ban 'steady_clock|system_clock|high_resolution_clock' 'host_seconds (sim/runs/process.hpp)' sim/runs/process.cpp
  ban 'unordered_(map|set)' 'an ordered container' sim/cluster/carrier.cpp
  ban 'std::sto[a-z]+\(|\bato[fil]\(|strtod' 'std::from_chars'
  ban 'using namespace std' 'qualified names'
  ban 'fmt::print\(stderr' 'say (sim/apps/cli/console.hpp), which a closed stderr does not stop'
  ban 'std::endl|std::cout|std::cerr|\bprintf\(' 'fmt::print'
  ours model sim analysis tests docs scenarios cmake README.md psim | grep -vx tests/tidy/tidy.sh |
    xargs grep -nHE '\b(TODO|FIXME|XXX)\b' | sed "s|\$|   do it or drop it|"
} >"$offences"

cat "$offences"
! [ -s "$offences" ]
