#!/bin/sh
# The ways of docs/architecture.md are true: every file and class that they name exists.
#   ways.sh ROOT
# A name in snake_case is a file of sim or analysis, a name in CamelCase a class. Prints for each way the number of files
# that a reader opens to follow it; the page says the same numbers.
set -u
export LC_ALL=C
cd "$1" || exit 3
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
: >"$scratch/offences"

# The files that NAME stands for.
files_of() {
  case $1 in
    sim/* | analysis/* | model/*) find "$1" "$1.cpp" "$1.hpp" -maxdepth 0 -type f 2>/dev/null | sed 's/\.[ch]pp$//' ;;
    [A-Z]*) grep -rlE --include='*.hpp' --include='*.cpp' "^(class|struct) ${1%%::*}( final)?( :|[ ]*[{:])" sim analysis model | sed 's/\.[ch]pp$//' ;;
    */*) find sim analysis model -path "*/$1.[ch]pp" | sed 's/\.[ch]pp$//' ;;
    *) find sim analysis model -name "$1.[ch]pp" -o -name "$1" -type f | sed 's/\.[ch]pp$//' ;;
  esac | sort -u
}

grep '^## The way of' docs/architecture.md | sed 's/^## //' >"$scratch/ways"
while read -r way; do
  awk -v way="## $way" '$0 == way { on = 1; next } /^## / { on = 0 } on' docs/architecture.md >"$scratch/text"
  : >"$scratch/files"
  # Words in backquotes that are names of files or classes, not of fields, events or functions.
  grep -oE '`[^`]*`' "$scratch/text" | tr -d '`' |
    grep -E '^((sim|analysis|model)/[a-z_/.]+|[a-z_]+/[a-z_]+|[A-Z][A-Za-z]+(::[a-z_]+)?)$' | sort -u >"$scratch/names"
  while read -r name; do
    files_of "$name" >"$scratch/found"
    if [ -s "$scratch/found" ]; then cat "$scratch/found" >>"$scratch/files"
    elif [ ! -d "$name" ]; then echo "docs/architecture.md: $way: there is no \`$name\`" >>"$scratch/offences"; fi
  done <"$scratch/names"
  count=$(sort -u "$scratch/files" | wc -l)
  grep -q "($count files)" "$scratch/text" ||
    echo "docs/architecture.md: $way names $count files, and does not say ($count files)" >>"$scratch/offences"
  echo "$way: $count files"
done <"$scratch/ways"
cat "$scratch/offences"
! [ -s "$scratch/offences" ]
