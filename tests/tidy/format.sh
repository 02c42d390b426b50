#!/bin/sh
# Every source is as clang-format 14 makes it, by .clang-format. Other versions break lines elsewhere, so without this
# one the check is skipped (exit code 77). `sh tests/tidy/format.sh ROOT --write` formats what differs.
set -eu
cd "$1"
for formatter in clang-format-14 clang-format none; do
  "$formatter" --version 2>/dev/null | grep -q 'version 14\.' && break
done
[ "$formatter" != none ] || { echo "skipped: clang-format 14 is not installed"; exit 77; }
mode='--dry-run --Werror'
[ "${2:-}" != --write ] || mode=-i
find model sim analysis tests -name '*.[ch]pp' -print0 | xargs -0 "$formatter" $mode
