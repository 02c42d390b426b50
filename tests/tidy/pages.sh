#!/bin/sh
# Pages that people write keep up with the program.
#   pages.sh PSIM ROOT
# docs/verify.md has every check that `psim verify` prints, docs/results.md every key of summaries and of a
# comparison, docs/features.md scenarios that set the fields they stand for, docs/extending.md the code of
# tests/additions, or a link to it; what scenarios suggest ("Try next: --set ...") is taken; console examples call ./psim. What psim
# prints there is compared in tests/docs.
set -u
export LC_ALL=C
psim=$1 root=$2
scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
cp -R "$root/scenarios" "$scratch/scenarios"
cd "$scratch" || exit 3
: >offences
offence() { echo "$*" >>offences; }
run() { "$psim" run "$@" >/dev/null 2>log || [ $? = 1 ] || offence "psim run $*: $(cat log)"; }

run scenarios/quickstart.toml --trace events --out crash --set replication.copies=1 \
  --set 'fault=[{kind="crash",nodes=["server 1"],at="500ms",restart_after="300ms"}]'
run scenarios/serving.toml --out serving --set training.epochs=1
run scenarios/clicks.toml --out clicks --set training.epochs=1
run scenarios/two_jobs.toml --out jobs --set training.duration=100ms
run scenarios/stragglers.toml --out target --set training.epochs=1
"$psim" compare scenarios/server_crash.toml --json --set training.duration=3s --seeds 1 >comparison.json 2>log ||
  offence "psim compare: $(cat log)"
"$psim" compare scenarios/serving.toml --json --set training.epochs=1 --seeds 1 >answers.json 2>log ||
  offence "psim compare: $(cat log)"

"$psim" verify crash >verdict || offence "psim verify: $(cat verdict)"
[ "$(wc -l <verdict)" -gt 15 ] || offence "psim verify prints few checks"
sed '1d; /^$/,$d; s/ .*//' verdict | while read -r check; do
  grep -q "^| $check |" "$root/docs/verify.md" || offence "docs/verify.md: no row for the check $check"
done

# Kinds of messages and of causes, and the conditions of a comparison, are names of other things.
grep -ohE '`[^`]*`' "$root/docs/results.md" | tr -c 'a-z0-9_\n' '\n' | sort -u >words
sed '/"bytes_by_kind": {/,/}/d; /"parts": {/,/}/d; /"by_kind": {/,/}/d; /"condition": {/,/}/d' */summary.json comparison.json answers.json |
  grep -oE '^ *"[^"]*":' | tr -d ' ":' | sort -u >keys
[ "$(wc -l <keys)" -gt 100 ] || offence "few keys: $(wc -l <keys)"
comm -23 keys words | while read -r key; do offence "docs/results.md: nothing about the key $key"; done

awk -v scenarios=scenarios -f "$root/tests/tidy/features.awk" "$root/docs/scenario.md" "$root/docs/features.md" >>offences

for file in "$root"/tests/additions/*.cpp; do
  name=tests/additions/$(basename "$file")
  case $name in *_test.cpp) continue ;; esac
  grep -qF "(../$name)" "$root/docs/extending.md" && continue
  awk -v mark="\`$name\`:" '$0 == mark { on = 1 } on && /^```$/ { exit } on && code { print } on && /^```cpp$/ { code = 1 }' \
    "$root/docs/extending.md" | cmp -s - "$file" || offence "docs/extending.md: not the code of $name"
done

grep -nE '^\$ psim ' "$root/README.md" "$root"/docs/*.md | sed 's/$/   write .\/psim/' >>offences

# A suggestion is one --set, or several side by side. What is said to be refused must be.
for file in scenarios/*.toml; do
  if "$psim" check "$file" 2>&1 >/dev/null | grep -q '^error\[data\]'; then continue; fi  # data to be fetched
  awk -f "$root/tests/tidy/suggestions.awk" "$file" >suggestions
  while read -r wanted arguments; do
    eval "\"$psim\" check $file $arguments" >/dev/null 2>log
    code=$?
    # A field that the file alone has no use for may be one of a comparison's rows.
    [ $code = $wanted ] || { eval "\"$psim\" compare $file $arguments" >/dev/null 2>log; code=$?; }
    case $wanted$code in
      00 | 01 | 22) ;;
      *) offence "$file: $arguments: exit code $code: $(head -n 1 log)" ;;
    esac
  done <suggestions
  cat suggestions >>all
done
[ "$(wc -l <all)" -gt 80 ] || offence "few suggestions: $(wc -l <all)"

cat offences
! [ -s offences ]
