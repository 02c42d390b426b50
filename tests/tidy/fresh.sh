#!/bin/sh
# The pages that psim generates from its own description are what it would generate now. A stale one is
# rewritten, and the test fails once.
set -u
psim=$1 root=$2
stale=0

check() {  # check FILE COMMAND...
  file=$root/$1
  shift
  if ! "$@" | cmp -s - "$file"; then
    "$@" >"$file"
    echo "$file was stale; it is rewritten now: look at it and commit it"
    stale=1
  fi
}

check docs/scenario.md "$psim" explain --reference
check docs/tables.md "$psim" explain tables
check docs/scenario.schema.json "$psim" schema
exit $stale
