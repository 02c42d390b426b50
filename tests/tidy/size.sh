#!/bin/sh
# The size of the program, by room: a room that grows says so in size.txt, in the same change.
#   size.sh ROOT            fails where a room has more lines than its line says, or over 50 fewer
#   size.sh ROOT --write    writes size.txt
# A room is a folder, or a folder of a folder: sim/protocol has all files below it. Lines of .cpp and .hpp count.
set -eu
cd "$1"
file=tests/tidy/size.txt
rooms=$(find model sim analysis -name '*.[ch]pp' -exec wc -l {} + | awk '$2 != "total" {
  count = split($2, part, "/")
  lines[count > 2 ? part[1] "/" part[2] : part[1]] += $1
  lines["all"] += $1
} END { for (room in lines) print room, lines[room] }' | LC_ALL=C sort)
if [ "${2:-}" = --write ]; then
  printf '%s\n' "$rooms" >"$file"
else
  printf '%s\n' "$rooms" | awk -v file="$file" '
    FILENAME == file { said[$1] = $2; next }
    { seen[$1] = 1; if (!($1 in said) || $2 > said[$1] || $2 < said[$1] - 50) {
        printf "%s: %s has %d lines, not %d\n", file, $1, $2, said[$1]; wrong = 1 } }
    END { for (room in said) if (!(room in seen)) { printf "%s: there is no %s\n", file, room; wrong = 1 }
      if (wrong) print "sh tests/tidy/size.sh . --write says so"; exit wrong }' "$file" -
fi
