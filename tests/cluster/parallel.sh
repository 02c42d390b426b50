#!/bin/sh
# parallel.sh PSIM SCENARIOS: the recipe for GNU parallel, as it is printed; after a failure it continues.
psim=$1 scenarios=$2 package=parallel
. "$(dirname "$0")/common.sh"
needs parallel
parallel --version 2>/dev/null | grep -q '^GNU parallel' || skip "parallel is not GNU parallel"
. "$(dirname "$0")/continues.sh"
continues parallel sh "$scratch/recipe" --jobs 2
