# continues RECIPE COMMAND...: the command makes the study of the recipe in $scratch/recipe. It fails while one
# slice cannot be made, and then continues.
continues() {
  recipe=$1
  shift
  awkward "$recipe"
  study=$folder/studies/study
  expect 0 "$psim" compare "$scenario" --out "$study" --recipe "$recipe" --slices 4 --baseline asp
  cp "$scratch/said" "$scratch/recipe"
  cd "$scratch" || exit 3

  echo "$recipe: without the scenario nothing is made"
  mv "$scenario" "$scratch/away.toml"
  "$@" >"$scratch/said" 2>&1 && fail "it does not fail"
  said 'one slow worker.toml'
  [ ! -e "$study" ] || fail "a study was begun"
  mv "$scratch/away.toml" "$scenario"

  echo "$recipe: a slice is killed"
  "$@" >"$scratch/said" 2>&1 &
  script=$!
  until_true 120 killed_slice
  wait "$script" && fail "it does not fail"
  [ ! -e "$study/study.json" ] || fail "the study was put together without a slice"

  echo "$recipe: and it continues"
  expect 0 "$@"
  grep -q ' [1-5] were there' "$scratch/said" || fail "it did not continue"
  expect 0 "$psim" compare "$scenario" --out "$scratch/whole" --baseline asp --threads 1
  same "$scratch/whole" "$study"

  echo "$recipe: once more, and nothing is to be done"
  expect 0 "$@"
  same "$scratch/whole" "$study"
  echo "done"
}

# Whether a slice that has a result was killed. Its oldest process writes the results; the others are its runs.
killed_slice() {
  process=$(pgrep -o -x -f -- "$psim compare .*$scratch.*--slice 2/4") || return 1
  for file in "$study"/results/*-"$process"-*.jsonl; do
    [ ! -s "$file" ] || { kill -9 "$process"; return; }
  done
  return 1
}
