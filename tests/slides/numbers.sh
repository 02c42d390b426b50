#!/bin/sh
# numbers.sh SLIDES: runs the commands in the notes of SLIDES/*.md (psim is in the PATH) and prints an offence
# for each line below a command that its output does not have.
set -eu
export LC_ALL=C.UTF-8
slides=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$slides"/*.toml "$work"
cd "$work"
# PLACE, a tab, and a line of a console; a command may go on in the next line after a backslash.
awk '
  /^```console$/ { on = 1; next }
  /^```/ { on = 0 }
  on {
    file = FILENAME
    sub(/.*\//, "", file)
    sub(/^ */, "")
    text = text $0
    if (sub(/\\$/, "", text)) next
    print file ":" FNR "\t" text
    text = ""
  }' "$slides"/*.md >lines
[ -s lines ] || { echo "$slides: no slide has a command"; exit 0; }
tab=$(printf '\t')
while IFS=$tab read -r place line; do
  case $line in
    '$ '*)
      eval "${line#??}" >printed 2>&1 </dev/null || [ $? = 1 ] || echo "$place: $(cat printed)"
      ;;
    *)
      grep -qF -e "$line" printed || echo "$place: psim does not print: $line"
      ;;
  esac
done <lines
