#!/bin/sh
# What pages show and say is what psim prints.
#   run.sh PSIM SOURCE [--update | --long] [PAGE...]     pages of SOURCE, such as docs/why.md; or all of them
# The commands of a page run in their order in a folder of their own, with psim's scenarios and
# those of slides in it:
#   blocks     ```console, lines "$ command"; what stands below is what it prints. `...` on a line of its own
#              stands for any lines, `...` in a line for anything. A command that shows nothing may print
#              anything. `<!-- exit 1 -->` on the line before a block: its last command ends with this code,
#              not with 0.
#   sentences  `psim why runs/bsp` is run too; of `psim why RUN` the name and the options must be psim's.
#   labs       are started for a student: the commands are those of the student's text, and run in the
#              student's folder.
#   slides     run in their own folder; a line below a command is a part of a line that it prints.
#   numbers    tests/docs/numbers has those of sentences, and the runs that they are from: numbers.awk
# tests/docs/not_run.txt lists what is not run, and why. --update writes what psim prints into the blocks.
# --long checks the numbers of numbers/*.long.txt, whose runs take long, and nothing else.
# Other kinds of processors may change the last digits of dates: there numbers are not compared, only the words.
set -u
export LC_ALL=C
unset PSIM_DATA COLUMNS
SOURCE=$(cd "$2" && pwd)
export SOURCE
psim=$1 source=$SOURCE here=$(cd "$(dirname "$0")" && pwd)
shift 2
update=false long=
case "${1:-}" in
  --update) update=true && shift ;;
  --long) long=1 && shift ;;
esac
tab=$(printf '\t')

scratch=$(mktemp -d) || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
# Beside this program are the scenarios, stories and labs of SOURCE.
mkdir -p "$scratch/bin" "$scratch/docs"
cp "$psim" "${psim%/*}/psim-further" "$scratch/bin/"
cp -R "$source/scenarios" "$scratch"
[ ! -d "$source/docs/stories" ] || cp -R "$source/docs/stories" "$scratch/docs"
[ ! -d "$source/docs/course" ] || cp -R "$source/docs/course" "$scratch/docs"
PATH=$scratch/bin:$PATH

masked=
made_on=$(sed -n 's/.*numbers of psim [0-9.]* on \([a-z0-9-]*\)\..*/\1/p' "$source/README.md")
[ -n "$made_on" ] || { echo "README.md: on which kind of processor were its numbers made?"; exit 1; }
case $(psim --version) in
  *"($made_on)") ;;
  *) masked=1 && echo "numbers are not compared: they were made on $made_on, and this is $(psim --version)" ;;
esac

wrong() { echo "$1: $2" >>"$scratch/wrong"; }

remark() { echo "$page:$1: not run: $2   ($3)" >>"$scratch/remarks"; }

# Is COMMAND one of those that are not run? LINE is where it stands.
not_run() {
  while IFS='|' read -r of pattern reason; do
    of=${of% } pattern=${pattern# } pattern=${pattern% }
    case $page in $of) ;; *) continue ;; esac
    case $1 in
      $pattern)
        echo "$pattern" >>"$scratch/left_out"
        remark "$2" "$1" "${reason# }"
        return 0
        ;;
    esac
  done <"$here/not_run.txt"
  return 1
}

# A line of the list about this page that it has no use for is out of date.
check_not_run() {
  while IFS='|' read -r of pattern reason; do
    of=${of% } pattern=${pattern# } pattern=${pattern% }
    case $page in $of) [ "$of" != '*' ] || continue ;; *) continue ;; esac
    grep -qxF -- "$pattern" "$scratch/left_out" || wrong "not_run.txt" "$page has no such command: $pattern"
  done <"$here/not_run.txt"
}

# The folder of a page, and its text.
prepare() {
  rm -rf "$scratch/page" "$scratch/parts" "$scratch/values"
  mkdir "$scratch/page" "$scratch/parts" "$scratch/values"
  : >"$scratch/wrong" && : >"$scratch/left_out" && : >"$scratch/remarks"
  text=$source/$page indented= excerpts=
  cp -R "$source/scenarios" "$scratch/page"
  mkdir -p "$scratch/page/docs/course" && cp -R "$source/docs/course/slides" "$scratch/page/docs/course"
  ln -s ../bin/psim "$scratch/page/psim"
  cd "$scratch/page" || exit 3
  case $page in
    docs/course/[0-9]*)
      lab=${page#docs/course/} && lab=${lab%%-*}
      psim lab start "$lab" --student a1234567 >/dev/null || wrong "$page" "does not start"
      cd "lab$lab" || exit 3
      text=$PWD/README.md indented=1
      ;;
    docs/course/slides/*) cd docs/course/slides && excerpts=1 ;;
  esac
  folder=$PWD
}

# A line of the list of blocks.awk: the command is run, and compared with what the page shows.
run_command() {
  number=$1 line=$2 first=$3 shown=$4 exit_code=$5
  command=$(cat "$scratch/parts/$number.cmd")
  not_run "$command" "$line" && return
  case $command in
    "sqlite3 "*)
      command -v sqlite3 >/dev/null || { remark "$line" "$command" "sqlite3 is not installed" && return; }
      ;;
  esac
  ran=$((ran + 1))
  sh "$scratch/parts/$number.cmd" >"$scratch/got" 2>&1 </dev/null
  code=$?
  if [ $code != "$exit_code" ]; then
    wrong "$page:$line" "exit code expected: $exit_code, found: $code, of $command
$(tail -n 5 "$scratch/got" | sed 's/^/  /')"
  fi
  awk -v page="$page" -v first="$first" -v masked="$masked" -v excerpts="$excerpts" -f "$here/compare.awk" \
    "$scratch/parts/$number.want" "$scratch/got" >>"$scratch/wrong" && return
  $update && [ -z "$excerpts" ] || return
  awk -v update=1 -f "$here/compare.awk" "$scratch/parts/$number.want" "$scratch/got" >"$scratch/parts/$first.new"
  echo "$first $((first + shown))" >>"$scratch/parts/updates"
}

# Writes what psim prints into the page, from its end to its beginning, so that numbers of lines stay right.
write_updates() {
  sort -rn "$scratch/parts/updates" | while read -r from to; do
    { head -n $((from - 1)) "$source/$page" && cat "$scratch/parts/$from.new" && tail -n +"$to" "$source/$page"; } \
      >"$scratch/new" && cp "$scratch/new" "$source/$page"
  done
  echo "$page: written again"
}

# A command in a sentence: LINE COMMAND.
run_inline() {
  line=$1 command=$2
  not_run "$command" "$line" && return
  words=${command#./} && words=${words#psim }
  name=${words%% *}
  case $name in -*) return ;; esac
  psim help "$name" >"$scratch/help" 2>&1 || { wrong "$page:$line" "psim has no command $name: $command"; return; }
  for word in $(echo "$words" | grep -oE '(^| )--[a-z-]+'); do
    grep -qE -- "(^|[ ,])$word( |,|$)" "$scratch/help" || wrong "$page:$line" "psim $name has no $word: $command"
  done
  ran=$((ran + 1))
  # RUN, FILE, ... stand for something; a command alone for all of its uses.
  if echo "$words" | grep -qE '^[a-z-]+( -.*)?$|[ =][A-Z]+([^A-Za-z0-9-]|$)|\.\.\.'; then return; fi
  sh -c "$command" >"$scratch/got" 2>&1 </dev/null || wrong "$page:$line" "exit code expected: 0, found: $?, of $command
$(tail -n 5 "$scratch/got" | sed 's/^/  /')"
}

# What COMMAND says, for the numbers of sentences. The runs of a comparison that a block made are there already.
values_of() {
  file=$scratch/got
  case $1 in
    *"|"*) sh -c "$1" ;;
    "psim run "*) sh -c "$1 --json --trace none" ;;
    "psim compare "*) file=studies/latest/study.json && sh -c "$1" ;;
    *) sh -c "$1" ;;
  esac >"$scratch/got" 2>"$scratch/err" </dev/null
  code=$?
  [ $code -lt 2 ] || wrong "$entries" "exit code $code of $1: $(tail -n 3 "$scratch/err")"
  case $(head -c 1 "$file") in
    "{") awk -f "$here/flat.awk" "$file" ;;
    *) cat "$file" ;;
  esac
}

# Of the runs that take long only the words of their sentences are checked, unless these are asked for.
check_numbers() {
  entries=$(cd "$here" && grep -lxF "page $page" numbers/*.txt)
  [ -n "$entries" ] || return
  [ -z "$long" ] || entries=$(echo "$entries" | grep '\.long\.txt$')
  cd "$here" || exit 3
  if [ -n "$long" ] && grep -q '"\?sqlite3 ' $entries && ! command -v sqlite3 >/dev/null; then
    echo "skipped: sqlite3 is not installed (Debian: sqlite3)" && exit 77
  fi
  awk -v commands=1 -v long=$long -f numbers.awk $entries >"$scratch/parts/commands"
  cd "$folder" || exit 3
  while IFS=$tab read -r name command; do values_of "$command" >"$scratch/values/$name"; done <"$scratch/parts/commands"
  cd "$here" || exit 3
  awk -v page="$page" -v values="$scratch/values" -v masked="$masked" -v long=$long -f numbers.awk "$source/$page" \
    $entries >>"$scratch/wrong" || [ $? = 1 ] || wrong "$page" "numbers.awk fails"
  sentences=$(cat $entries | grep -c '^says: ')
}

# What the page's blocks and sentences have of commands.
check_commands() {
  awk -v page="$page" -v dir="$scratch/parts" -v indented="$indented" -f "$here/blocks.awk" "$text" >>"$scratch/wrong"
  awk -f "$here/inline.awk" "$text" >"$scratch/parts/inline"
  while read -r number line first shown exit_code; do
    run_command "$number" "$line" "$first" "$shown" "$exit_code"
  done <"$scratch/parts/list"
  while IFS=$tab read -r line command; do run_inline "$line" "$command"; done <"$scratch/parts/inline"
  check_not_run
}

check_page() {
  page=$1 ran=0 sentences=0
  prepare
  [ -n "$long" ] || check_commands
  check_numbers
  [ $((ran + sentences)) -gt 0 ] || wrong "$page" "has no commands"
  sort -u "$scratch/remarks"
  cat "$scratch/wrong"
  if $update && [ -f "$scratch/parts/updates" ]; then write_updates; fi
  echo "$page: $ran commands, $sentences sentences with numbers, $(grep -c '^[^ ]' "$scratch/wrong") wrong"
  [ ! -s "$scratch/wrong" ]
}

# Pages with commands.
pages() {
  cd "$source" || exit 3
  [ -z "$long" ] || { sed -n 's/^page //p' "$here"/numbers/*.long.txt && return; }
  grep -lE '^```console$|`(\./)?psim [a-z]' README.md CONTRIBUTING.md docs/*.md docs/concepts/*.md docs/course/*.md docs/course/*/*.md
}

[ $# -gt 0 ] || set -- $(pages)
failed=0
for each; do check_page "$each" || failed=1; done
exit $failed
