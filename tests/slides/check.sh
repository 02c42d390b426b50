#!/bin/sh
# check.sh SLIDES OUT: makes the slides of SLIDES in OUT and prints every offence.
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
slides=$1 out=$2
sh "$slides/make.sh" --out "$out" 2>&1 >/dev/null || exit 0

for page in "$out"/*.html; do
  grep -o '.\{0,60\}://.\{0,60\}' "$page" | sed "s|^|$page: asks another host: |"
  # What a figure asks for; names of formats (xmlns) are no requests.
  grep -o 'data:image/svg+xml;base64,[^"]*' "$page" | sed 's/.*,//' | while read -r figure; do
    printf '%s' "$figure" | base64 -d | grep -oE '(href|src)="(http|//)[^"]*|url\(.?http[^)]*|@import.*' |
      sed "s|^|$page: a figure asks another host: |"
  done
done
if command -v chromium >/dev/null && command -v python3 >/dev/null; then
  PYTHONPATH=$here/../page python3 -B "$here/slides_test.py" "$out"/*.html
fi
