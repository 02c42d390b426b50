#!/bin/sh
# snakemake.sh PSIM SCENARIOS: the recipe for Snakemake, as it is printed; after a failure it continues.
psim=$1 scenarios=$2 package=snakemake
. "$(dirname "$0")/common.sh"
needs snakemake
export HOME="$scratch" XDG_CACHE_HOME="$scratch/cache"
. "$(dirname "$0")/continues.sh"
continues snakemake snakemake --snakefile "$scratch/recipe" --directory "$scratch" --cores 2 --nolock
[ -z "$(find "$folder" -name '*.round-*')" ] || fail "marks of slices are left"
