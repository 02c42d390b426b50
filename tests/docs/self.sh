#!/bin/sh
# A page that says something wrong is found, with its line and what would be right; --update mends its blocks.
#   self.sh PSIM SOURCE
set -u
export LC_ALL=C
psim=$1 source=$(cd "$2" && pwd)
folder=$(mktemp -d) || exit 3
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$folder/docs" "$folder/tests/docs/numbers"
cp "$source"/tests/docs/*.sh "$source"/tests/docs/*.awk "$folder/tests/docs"
cp -R "$source/scenarios" "$folder"
page=$folder/docs/page.md numbers=$folder/tests/docs/numbers/page.txt
cpu_family=$("$psim" --version | sed 's/.*(\(.*\))/\1/')
failed=0

made_on() { echo "These are numbers of psim 0.1.0 on $1." >"$folder/README.md"; }
check() { sh "$folder/tests/docs/run.sh" "$psim" "$folder" "$@" docs/page.md >"$folder/said" 2>&1; }
fail() {
  failed=$((failed + 1))
  echo "FAILED: $1"
  cat "$folder/said"
}

write_right_page() {
  made_on "$cpu_family"
  echo 'docs/page.md | psim lab check | a student does' >"$folder/tests/docs/not_run.txt"
  cat >"$page" <<'END'
# A page

```console
$ ./psim run worked_example
...
  simulated   0.01822 s, 5 updates, 10 steps of 2 workers under bsp
...
  worker   clocks   step [ms]   compute      wait   network
       0        5       2.603     0.0 %     0.0 %   100.0 %
       1        5       2.603     ...
...
```

The run takes 18.22 ms, as `psim run worked_example --seed 1` says, and `psim lab check`. There are two
workers and 38 weights, as in 1 page of 2014.

<!-- exit 2 -->
```console
$ ./psim list
$ ./psim run worked_example \
    --set cluster.workers=0
error[out-of-range]: `cluster.workers` is 0
 --> --set:1:17
  |
1 | cluster.workers=0
  |                 ^ must be between 1 and ...

1 error; nothing was run   next: psim explain out-of-range
```
END
  cat >"$numbers" <<'END'
page docs/page.md
every number

a = psim run worked_example
seconds = psim run worked_example | sed -n 's/.*simulated *\([0-9.]*\) s.*/\1/p'
says: The run takes {%.2f 1000 * a/sim_time_s} ms, as
says: There are {%w a/workers/length} workers and {%d a/model/parameters} weights
says: takes {%.2f 1000 * seconds} ms
given, an example:
  1 page of 2014
every row
END
}

# finds FILE CHANGE WORDS: after the change (sed) the run fails and says all of WORDS, each on a line.
finds() {
  write_right_page
  sed "$2" "$1" >"$folder/changed"
  cmp -s "$1" "$folder/changed" && { fail "$2 changes nothing"; return; }
  cp "$folder/changed" "$1"
  check && { fail "nothing is found after $2"; return; }
  printf '%s\n' "$3" | while read -r words; do
    grep -qF -- "$words" "$folder/said" || echo "$words"
  done >"$folder/unsaid"
  [ ! -s "$folder/unsaid" ] || fail "after $2 nobody says: $(cat "$folder/unsaid")"
}

write_right_page
check || fail "a right page is said to be wrong"
grep -qF 'docs/page.md: 4 commands, 3 sentences with numbers, 0 wrong' "$folder/said" || fail "other counts"

finds "$page" 's/0.01822 s/0.01823 s/' 'docs/page.md:6: the page shows:   simulated   0.01823 s, 5 updates
psim prints:   simulated   0.01822 s, 5 updates'
finds "$page" '9s/2.603/2.604/' 'docs/page.md:9: the page shows:        0        5       2.604
psim prints:        0        5       2.603'
finds "$page" '10s/2.603/2.604/' 'docs/page.md:10: the page shows:        1        5       2.604     ...'
finds "$page" '11d' 'docs/page.md:10: the page shows: (nothing more)'
finds "$page" '5d' 'psim prints: psim run scenarios/worked_example.toml'
finds "$page" 's/18.22 ms/18.24 ms/' 'docs/page.md:14: the page says: The run takes 18.24 ms, as
the run gives: 18.22'
finds "$page" 's/are two/are four/' 'docs/page.md:14: the page says: There are four workers
the run gives: two'
finds "$page" 's/workers and 38/workers and 39/' 'docs/page.md:15: the page says:  workers and 39 weights
the run gives: 38'
finds "$page" 's/The run takes/The run needs/' 'numbers/page.txt:6: docs/page.md has no such sentence: The run takes'
finds "$page" '$s/$/\nAnd 77 more./' 'docs/page.md:30: where does this number come from?'
finds "$page" 's/1 page of/2 pages of/' 'numbers/page.txt:10: docs/page.md does not say: 1 page of 2014'
finds "$page" '$s/$/\n| feature | sees |\n|---|---|\n| one | a cell |/' \
  'docs/page.md:32: where does this cell come from? a cell'
finds "$page" '4s/worked_example/worked_exampel/' \
  'docs/page.md:4: exit code expected: 0, found: 2, of ./psim run worked_exampel'
finds "$page" 's/<!-- exit 2 -->/<!-- exit 1 -->/' 'docs/page.md:20: exit code expected: 1, found: 2'
finds "$page" '17d' 'exit code expected: 0, found: 2'
finds "$page" 's/--seed 1/--sed 1/' 'docs/page.md:14: psim run has no --sed: psim run worked_example --sed 1'
finds "$page" 's/psim run worked_example --seed/psim ran worked_example --seed/' \
  'docs/page.md:14: psim has no command ran'
finds "$page" 's/worked_example --seed/worked_exampel --seed/' 'docs/page.md:14: exit code expected: 0, found: 2'
finds "$page" 's/`psim lab check`/psim/' 'not_run.txt: docs/page.md has no such command: psim lab check'
finds "$page" '21s/$/"/' 'docs/page.md:20: a command without an end'
finds "$numbers" 's|a/sim_time_s|a/sim_time|' 'numbers/page.txt:6: nothing is known of a/sim_time'
finds "$numbers" 's/= psim run worked_example$/= psim run nothing/' 'exit code 2 of psim run nothing'

# Of slides a part of a line is shown.
write_right_page
slides=docs/course/slides/1.md
mkdir -p "$folder/docs/course/slides"
cp -R "$folder/scenarios" "$folder/docs/course/slides"
printf '```console\n$ psim run worked_example\nsimulated   0.01822 s\n```\n' >"$folder/$slides"
check $slides || fail "right slides are said to be wrong"
sed -i 's/0.01822/0.01823/' "$folder/$slides"
check $slides && fail "wrong slides are said to be right"
grep -q "$slides:3: the page shows: simulated   0.01823 s" "$folder/said" || fail "other words on wrong slides"

# Elsewhere numbers may be others, and words may not.
write_right_page
made_on another-kind
sed -i 's/0.01822/0.77/; s/18.22 ms/1.5 ms/; s/ 2.603/  2.6/' "$page"
check || fail "numbers are compared on another kind of processor"
sed -i 's/updates, 10 steps/updates, 10 leaps/' "$page"
check && fail "words are not compared on another kind of processor"

write_right_page
cp "$page" "$folder/right"
sed -i '6s/0.01822 s/0.5 s/; 9s/2.603/9.8/; s/is 0$/is 1/' "$page"
check --update
cmp -s "$page" "$folder/right" || fail "--update: $(diff "$folder/right" "$page")"

echo "$failed failed"
[ $failed -eq 0 ]
