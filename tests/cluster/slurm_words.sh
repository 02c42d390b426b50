#!/bin/sh
# slurm_words.sh PSIM SCENARIOS: what the recipe for Slurm asks of sbatch, with a program of that name that writes down
# its options and its script. tests/cluster/slurm.sh runs the recipe on a real Slurm.
psim=$1 scenarios=$2
. "$(dirname "$0")/common.sh"

awkward slurm
mkdir "$scratch/bin"
cat >"$scratch/bin/sbatch" <<END
#!/bin/sh
echo one >>"$scratch/jobs"
number=\$(wc -l <"$scratch/jobs")
printf '%s\n' "\$@" >"$scratch/options-\$number"
cat >"$scratch/script-\$number"
echo "\$((100 + number));cluster"
END
printf '#!/bin/sh\necho MaxArraySize = 1001\n' >"$scratch/bin/scontrol"
chmod +x "$scratch/bin/sbatch" "$scratch/bin/scontrol"
PATH=$scratch/bin:$PATH
study=$folder/studies/study

# recipe SLICES OPTION...: runs the recipe with these options.
recipe() {
  rm -f "$scratch/jobs" "$scratch"/options-* "$scratch"/script-*
  expect 0 "$psim" compare "$scenario" --out "$study" --seeds "$seeds" --recipe slurm --slices "$1"
  cp "$scratch/said" "$scratch/recipe.sh"
  shift
  expect 0 sh "$scratch/recipe.sh" "$@"
}
# job N TEXT: the N-th job was submitted with this option; no TEXT: with none that begins with it.
job() { grep -qxF -- "$2" "$scratch/options-$1" || fail "job $1 lacks $2: $(cat "$scratch/options-$1")"; }
no() { ! grep -q -- "^$2" "$scratch/options-$1" || fail "job $1 has $2: $(cat "$scratch/options-$1")"; }

echo "arrays and dependencies of the user"
seeds=1-5
for options in '--array=1-6%3 --dependency=afterok:7' '--array 1-6%3 -d afterok:7' '-a1-6%3 --depend=afterok:7' \
  '-a 1-6%3 -dafterok:7'; do
  recipe 6 --comment 'two words' $options --partition=long
  job 1 --array=1-6%3
  job 1 --dependency=afterok:7
  no 2 --array
  no 2 -a
  job 2 --dependency=afterany:101,afterok:7
  for n in 1 2; do
    job "$n" 'two words'
    job "$n" --partition=long
    job "$n" --open-mode=append
    [ "$(grep -c -e '^--dep' -e '^-d' "$scratch/options-$n")" = 1 ] || fail "job $n has two dependencies"
  done
done
[ "$(wc -l <"$scratch/jobs")" = 2 ] || fail "there are not two jobs"
recipe 6 --dependency=afterok:7?afterok:8
job 1 '--dependency=afterok:7?afterok:8'
job 2 --dependency=afterany:101
recipe 6
no 1 --dependency
job 1 --array=1-6
export SBATCH_ARRAY_INX=2-3
recipe 6
job 1 --array=2-3
unset SBATCH_ARRAY_INX

echo "a signal to the task reaches psim"
grep -q "^exec .*psim.* compare .*--slice " "$scratch/script-1" || fail "the shell stays"
grep -q "^exec .*psim.* merge " "$scratch/script-2" || fail "the shell of the merge stays"
head -n 2 "$scratch/script-1" | grep -q '^#SBATCH' || fail "sbatch reads its options before the first command only"

echo "more slices than an array has numbers: each run is in one slice"
recipe 20
job 1 --array=1-20
printf '#!/bin/sh\necho MaxArraySize = 9\n' >"$scratch/bin/scontrol"
recipe 20
said 'job 101: slices 1 to 8, round 1 of 1'
said 'job 102: slices 9 to 16, round 1 of 1'
said 'job 103: slices 17 to 20, round 1 of 1'
for n in 1 2; do job "$n" --array=1-8; done
job 3 --array=1-4
job 4 --dependency=afterany:101:102:103
grep -qx 'first=16' "$scratch/script-3" || fail "the third array does not know its first slice"

echo "Slurm's reasons, and the whole command that finishes the study"
sed -i 's/^epochs = .*/epochs = 1/' "$scenario"
expect 0 "$psim" compare "$scenario" --out "$study" --seeds 1-2 --baseline asp --trace steps --slice 1/4
{ echo 'slice 1/4: 2 of 8 runs are in this slice'; } >"$study.slurm-1.out"
{
  echo 'slurmstepd: error: *** JOB 7 ON node CANCELLED AT 2026-11-29T13:00:00 DUE TO TIME LIMIT ***'
  echo 'interrupted'
} >"$study.slurm-2.out"
echo 'slurmstepd: error: Detected 1 oom_kill event in StepId=9.batch. Some of the step tasks have been OOM Killed.' \
  >"$study.slurm-3.out"
expect 1 "$psim" merge "$study"
said 'Slurm ended 2 tasks'
said '2.out: slurmstepd: error: *** JOB 7 ON node CANCELLED AT 2026-11-29T13:00:00 DUE TO TIME LIMIT ***'
said '--time=MINUTES'
said '--mem=MEGABYTES'
said '--baseline asp --trace steps'
command=$(sed -n 's/^  psim compare/compare/p' "$scratch/said")
eval "expect 0 '$psim' $command"
expect 0 "$psim" merge "$study"
sed 's|data/borrowed|borrowed|; s/^epochs = .*/epochs = 1/' "$scenarios/borrowed_machines.toml" >"$folder/my scenarios/borrowed.toml"
expect 0 "$psim" compare "$folder/my scenarios/borrowed.toml" --data-dir "$scenarios/data" --out "$study-2" --slice 1/9
expect 1 "$psim" merge "$study-2"
said "--data-dir $scenarios/data"
command=$(sed -n 's/^  psim compare/compare/p' "$scratch/said")
eval "expect 0 '$psim' $command"
expect 2 "$psim" compare quickstart --baseline asp --count
said 'leave out --baseline'
echo "done"
