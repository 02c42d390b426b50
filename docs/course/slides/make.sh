#!/bin/sh
# Makes the slides of the labs: an HTML file each that needs no network; with --pdf a PDF too, a page a slide.
#   make.sh [--out DIR] [--pdf] [LAB...]      LAB: 1 to 6; all without
# figures.txt says which psim command draws which figure. Exit codes: 1 a figure went wrong, 2 bad use or a
# program is missing.
set -eu
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
say() { printf 'make.sh: %s\n' "$*" >&2; }
fail() { code=$1; shift; say "$*"; exit "$code"; }
need() { command -v "$1" >/dev/null 2>&1 || fail 2 "there is no $1; install the Debian package $2"; }

out=course-slides pdf=
labs=
while [ $# -gt 0 ]; do
  case $1 in
    --out) [ $# -gt 1 ] || fail 2 "--out needs a folder"; out=$2; shift ;;
    --pdf) pdf=yes ;;
    [0-9] | [0-9][0-9]) labs="$labs $1" ;;
    *) fail 2 "usage: make.sh [--out DIR] [--pdf] [LAB...]" ;;
  esac
  shift
done
need pandoc pandoc
[ -z "$pdf" ] || need chromium chromium
if command -v psim >/dev/null 2>&1; then psim=psim
elif [ -x "$here/../../../psim" ]; then psim=$here/../../../psim
else fail 2 "there is no psim in the PATH; a checkout's ./psim builds it from Debian packages"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$out"
out=$(cd "$out" && pwd)

# figure NAME: draws it into $work/NAME.svg.
figure() {
  row=$(grep "^$1 *|" "$here/figures.txt") || fail 1 "figures.txt has no figure $1"
  chart=$(printf '%s\n' "$row" | cut -d'|' -f2)
  words=$(printf '%s\n' "$row" | cut -d'|' -f3)
  eval "set -- $1 $chart"
  name=$1 chart=$2
  shift 2
  options=$*
  eval "set -- $words"
  case $1 in run) set -- "$@" --trace events ;; esac
  mkdir "$work/$name"
  # Exit code 1 is an answer: a target was missed.
  (cd "$here" && "$psim" "$@" --out "$work/$name/$name" >"$work/log" 2>&1) || [ $? = 1 ] ||
    fail 1 "psim $words: $(cat "$work/log")"
  "$psim" export "$work/$name/$name" --svg "$work/$name/charts" --width-mm 75 $options >"$work/log" 2>&1 ||
    fail 1 "psim export ($name): $(cat "$work/log")"
  [ -f "$work/$name/charts/$chart.svg" ] || fail 1 "figure $name: psim export draws no $chart here"
  mv "$work/$name/charts/$chart.svg" "$work/$name.svg"
}

# Puts figures into the HTML itself.
embed() {
  awk -v folder="$work" '{
    while (match($0, /src="figures\/[^"]*"/)) {
      file = folder "/" substr($0, RSTART + 13, RLENGTH - 14)
      data = ""
      command = "base64 -w0 <\"" file "\""
      if ((command | getline data) < 1) exit 1
      close(command)
      printf "%ssrc=\"data:image/svg+xml;base64,%s\"", substr($0, 1, RSTART - 1), data
      $0 = substr($0, RSTART + RLENGTH)
    }
    print
  }' "$1"
}

# paper STEM: one page a slide. A browser that runs as root has no sandbox.
paper() {
  sandbox=
  [ "$(id -u)" != 0 ] || sandbox=--no-sandbox
  chromium --headless $sandbox --disable-gpu --user-data-dir="$work/browser" --no-pdf-header-footer \
    --print-to-pdf="$out/$1.pdf" "file://$out/$1.html" >"$work/log" 2>&1 && [ -s "$out/$1.pdf" ] ||
    fail 1 "chromium: $(cat "$work/log")"
}

# slides FILE.md: its figures, its page, and its paper.
slides() {
  stem=$(basename "$1" .md)
  for name in $(sed -n 's/^!\[.*\](figures\/\(.*\)\.svg)$/\1/p' "$1"); do figure "$name"; done
  pandoc --from markdown-smart --to html5 --section-divs --wrap=none --template "$here/template.html" "$1" \
    --output "$work/page.html" || fail 1 "pandoc: $1"
  embed "$work/page.html" >"$out/$stem.html" || fail 1 "$1: a figure is missing"
  echo "$out/$stem.html"
  [ -z "$pdf" ] || { paper "$stem"; echo "$out/$stem.pdf"; }
}

[ -n "$labs" ] || labs=$(cd "$here" && ls | sed -n 's/^\([0-9]*\)-.*\.md$/\1/p')
for lab in $labs; do
  set -- "$here/$lab"-*.md
  [ -f "$1" ] || fail 2 "there are no slides of lab $lab"
  slides "$1"
done
