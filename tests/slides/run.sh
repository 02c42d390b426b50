#!/bin/sh
# The slides of the labs: run.sh PSIM SOURCE. Makes them all and looks at them. Then slides that are broken on
# purpose must be refused.
set -eu
export LC_ALL=C.UTF-8
psim=$1 source=$2
here=$source/tests/slides
command -v pandoc >/dev/null || { echo "skipped: there is no pandoc here (apt-get install pandoc)"; exit 77; }
command -v chromium >/dev/null || echo "not looked at: there is no chromium here (apt-get install chromium)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$psim" "$work/bin/psim"
PATH=$work/bin:$PATH
slides=$source/docs/course/slides
rules() { awk -f "$here/slides.awk" -v figures="$1/figures.txt" "$1"/*.md; }

{
  rules "$slides"
  sh "$here/check.sh" "$slides" "$work/out"
} >"$work/offences"
cat "$work/offences"
[ ! -s "$work/offences" ] || exit 1
for page in "$slides"/*.md; do
  [ -s "$work/out/$(basename "$page" .md).html" ] || { echo "not made: $page"; exit 1; }
done

if command -v chromium >/dev/null; then
  sh "$slides/make.sh" --out "$work/out" --pdf 1 >/dev/null
  sheets=$(grep -a -c '/Type /Page$' "$work/out/1-one-step.pdf")
  count=$(grep -c '<section' "$work/out/1-one-step.html")
  [ "$sheets" = "$count" ] || { echo "lab 1: $count slides on $sheets sheets"; exit 1; }
fi

# broken WHAT SED: lab 1 with a mistake; the command after it must print WHAT.
broken() {
  what=$1 change=$2
  shift 2
  rm -rf "$work/broken" "$work/broken-out"
  mkdir "$work/broken"
  cp "$slides"/1-* "$slides/figures.txt" "$slides/make.sh" "$slides/template.html" "$work/broken"
  sed "$change" "$slides/1-one-step.md" >"$work/broken/1-one-step.md"
  "$@" >"$work/found" 2>&1 || true
  grep -q "$what" "$work/found" || { echo "not found: $what, after: $change"; cat "$work/found"; exit 1; }
}
look() { sh "$here/check.sh" "$work/broken" "$work/broken-out"; }
broken 'figures.txt has no figure none' 's|figures/one-worker|figures/none|' look
broken 'asks another host' 's|^# Your turn|&\n\n![](https://example.org/a.png)|' look
broken 'no command that prints 54.6 %' 's/\[54.5 %\]/[54.6 %]/' rules "$work/broken"
broken 'words, limit 40' "s/^# Your turn/&\n\n$(seq -s ' ' 40)/" rules "$work/broken"
broken 'a result without a question' 's/{.ask}//' rules "$work/broken"
broken 'what real systems do' 's/{.sources}//' rules "$work/broken"
if command -v chromium >/dev/null && command -v python3 >/dev/null; then
  broken 'no room for' "s/^# Your turn/&\n\n$(seq -s '\n\n' 12)/" look
fi
