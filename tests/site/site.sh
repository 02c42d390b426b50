#!/bin/sh
# `./psim docs` makes a site without broken links, missing pictures or requests to other hosts, and notices
# each of them: site.sh PSIM SOURCE. The drawings of the gallery, which take minutes, are left out.
set -u
psim=$1 source=$2
skip() { echo "skipped: $*"; exit 77; }
python3 -c 'import tomllib' 2>/dev/null || skip "there is no Python 3.11 here"
[ -d /usr/share/mkdocs/themes/material ] || [ -d /usr/lib/python3/dist-packages/material ] ||
  skip "there is no mkdocs-material here (apt-get install mkdocs-material)"
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
cd "$scratch" || exit 3
failed=0
fail() { echo "FAILED: $*"; failed=1; }
site() { python3 -B "$1/docs/site/site.py" "$psim" "$1" site --quick >said 2>&1; }

# notices MISTAKE PATTERN: the built site with the mistake in it, made by a command in its folder, is refused.
notices() {
  rm -rf wrong
  cp -R good wrong
  (cd wrong && eval "$1") || fail "could not make the mistake: $1"
  python3 -B "$source/docs/site/check.py" wrong >said && fail "not noticed: $1"
  grep -q "$2" said || fail "after $1 it says: $(cat said)"
}

site "$source" || { cat said; fail "the site is not built"; exit 1; }
[ "$(find site -name '*.html' | wc -l)" -gt 90 ] || fail "few pages"
[ "$(find site/drawings -name '*.svg' | wc -l)" -gt 15 ] || fail "few drawings"
[ "$(grep -o 'href="stories/[a-z_]*.html"' site/index.html | wc -l)" -eq "$(ls "$source"/docs/stories/*.toml | wc -l)" ] ||
  fail "the front page leads to no stories"
grep -q 'Answer' site/docs/tutorial.html || fail "the tutorial has no folds"
grep -q 'search_index.js' site/index.html || fail "search needs a server"
cp -R site good

notices 'sed -i "s|docs/tests.html|docs/no_such.html|" index.html' 'a broken link: docs/no_such.html'
notices 'sed -i "s|href=\"#see-why|href=\"#no_such|" index.html' 'an anchor that is not there: #no_such'
notices 'rm stories/straggler.html' 'a broken link: stories/straggler.html'
notices 'rm docs/concepts/parameter-server.svg' 'this is missing: parameter-server.svg'
notices 'rm drawings/*timeline.svg' 'this is missing: .*timeline.svg'
notices 'echo "<script src=https://a.org/a.js></script>" >>index.html' 'another host: https://a.org/a.js'
notices 'echo "@import \"//example.org/a.css\";" >>theme.css' 'another host: //example.org/a.css'
notices 'echo "a { background: url(https://a.org/a.png) }" >>theme.css' 'another host: https://a.org/a.png'

# The sources: a link to no page, a scenario that is not in the gallery, a sentence without its runs.
mkdir -p copy/tests/docs
cp -R "$source/docs" "$source/scenarios" "$source"/*.md copy
cp -R "$source/tests/docs/numbers" copy/tests/docs
echo '[x](no_such_page.md)' >>copy/docs/fuzz.md
site copy && fail "a link to no page is built"
grep -q 'no_such_page.md' said || fail "about a link to no page it says: $(cat said)"
cp copy/scenarios/quickstart.toml copy/scenarios/no_such.toml
site copy && fail "a scenario without a place in the gallery is built"
grep -q "differ: \['no_such'\]" said || fail "about a stray scenario it says: $(cat said)"
rm copy/scenarios/no_such.toml
sed -i 's/^says: | Key caching reduces/says: | Key caching spares/' copy/tests/docs/numbers/features.txt
site copy && fail "a sentence without its runs is built"
grep -q 'no such sentence: Key caching reduces' said || fail "about a sentence without its runs it says: $(cat said)"

# Search works from files, also for words that are not Latin.
browser=$(command -v chromium) || { echo "search was not tried: there is no chromium here"; exit $failed; }
for word in incast:'Incast and placement' 梯度:Glossary; do
  "$browser" --headless=new --no-sandbox --user-data-dir="$scratch/profile" --virtual-time-budget=20000 \
    --dump-dom "file://$scratch/good/index.html?q=${word%%:*}" >found 2>/dev/null
  sed -n '/md-search-result__list/,/<\/ol>/p' found | sed 's/<[^>]*>//g' | grep -q "${word#*:}" ||
    fail "search does not find ${word%%:*}"
done
exit $failed
