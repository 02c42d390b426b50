#!/bin/sh
# sanitized.sh CMAKE PRESET: builds psim with a preset's sanitizers, in build/PRESET, and runs tests with it.
#   asan   AddressSanitizer and UBSan: the tests of `./psim test`, without benchmarks, additions and the installation;
#          with PSIM_TEST_STRIDE=N only every N-th test.
#   tsan   ThreadSanitizer: the thread pool, and runs whose gradients two threads compute
set -eu
cd "$(dirname "$0")/../.."
cmake=$1 preset=$2
build=build/$preset
"$cmake" --preset "$preset" -DPSIM_UNITY=ON
if [ "$preset" = asan ]; then
  "$cmake" --build "$build" --target psim-further psim_unit psim_system psim_joules psim_texts psim_pairs
  stride=${PSIM_TEST_STRIDE:+-I 1,,$PSIM_TEST_STRIDE}
  exec ctest --test-dir "$build" --output-on-failure -j "$(nproc)" -LE 'slow|long|bench' \
    -E '^additions: |^install: |NOT_BUILT' $stride
fi

"$cmake" --build "$build" --target psim-further psim_unit
"$build/tests/psim_unit" '[pool]'
# One and two threads give the same digest. A data race ends the program with an error code.
for model in bsp asp; do
  for scenario in quickstart clicks; do
    digests=
    for threads in 1 2; do
      digest=$("$build/psim" run "scenarios/$scenario.toml" --json --threads $threads --set training.epochs=1 \
        --set consistency.model=$model | grep '"digest"')
      echo "$scenario $model, $threads threads: $digest"
      [ -z "$digests" ] || [ "$digests" = "$digest" ] || exit 1
      digests=$digest
    done
  done
done
