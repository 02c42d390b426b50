#!/bin/sh
# Scenarios that once went wrong: each must end, with 0 or with 1 and a reason, with the same digest whatever
# the threads, and keep its promises and its shards' invariants. usage: run.sh PSIM FOLDER
psim=$1
export PSIM_INVARIANTS=1  # every run checks its shards after every step
failed=0
folder=$(mktemp -d)
document=$folder/document
trap 'rm -rf "$folder"' EXIT
for scenario in "$2"/*.toml; do
  digest=
  for threads in 1 2; do
    timeout 600 "$psim" run "$scenario" --json --threads $threads --trace events --force --out "$folder/run" \
      >"$document" 2>/dev/null
    code=$?
    now=$(grep '"digest"' "$document")
    if [ $code -gt 1 ] || [ -z "$now" ]; then
      echo "$scenario: exit code $code with $threads threads"
      failed=1
    elif [ -n "$digest" ] && [ "$digest" != "$now" ]; then
      echo "$scenario: $digest with 1 thread, $now with 2"
      failed=1
    fi
    digest=$now
    if [ $threads -eq 1 ] && ! "$psim" verify "$folder/run" >"$folder/verdict"; then
      echo "$scenario: $(grep -A 1 'violation' "$folder/verdict" | head -2)"
      failed=1
    fi
    # "# must end": its faults pass by, so being stuck is wrong.
    if [ $code -ne 0 ] && grep -q '^# must end' "$scenario"; then
      echo "$scenario: stuck though all is well again"
      failed=1
    fi
  done
done
exit $failed
