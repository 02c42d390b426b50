#!/bin/sh
# slices.sh PSIM SCENARIOS: a study that several processes make is the study that one makes, whatever happens to
# them. Needs no cluster's software.
psim=$1 scenarios=$2
. "$(dirname "$0")/common.sh"

# 12 runs of a tenth of a second; some miss their target.
scenario=$scratch/small.toml
cat >"$scenario" <<'END'
[model]
layers = [64, 10]
[training]
epochs = 6
batch_size = 8
target = { accuracy = 0.9999 }
[cluster]
workers = 4
[compare]
consistency = ["bsp", "ssp 3", "asp"]
seeds = [1, 2, 3, 4]
END
compare() { "$psim" compare "$scenario" --threads 1 --jobs 1 "$@"; }
slice() { compare --out "$scratch/$1" --slice "$2"; }
# Of results. Some runs have a second line, with their cause.
lines() { cat "$scratch/$1"/results/*.jsonl 2>/dev/null | grep -c '"summary":'; }
has_lines() { [ "$(lines "$1")" -ge "$2" ]; }

expect 1 compare --out "$scratch/whole"
said 'runs missed the target'
whole=$scratch/whole
expect 0 compare --count
[ "$(cat "$scratch/said")" = 12 ] || fail "--count does not say 12"

echo "all at the same time, two of them twice"
for n in 3/4 1/4 4/4 1/4 2/4 3/4; do
  slice together $n >"$scratch/slice" 2>&1 || echo "slice $n: $?" >>"$scratch/not-done" &
done
wait
[ ! -e "$scratch/not-done" ] || fail "$(cat "$scratch/not-done")"
expect 0 "$psim" merge "$scratch/together"
said 'runs missed the target'
grep -q 'exit code' "$scratch/said" && fail "merge speaks of an exit code that it does not have"
same "$whole" "$scratch/together"

echo "one after the other, the last one first; merge says what is missing"
for n in 4 2 1; do
  expect 0 slice turns $n/4
  said '3 made now, 0 existed before'
done
expect 1 "$psim" merge "$scratch/turns"
said '3 of 12 runs are missing'
[ "$(grep -c 'psim run .*small.toml' "$scratch/said")" -eq 3 ] || fail "merge does not list three runs"
expect 0 slice turns 2/4
said '0 made now, 3 existed before'
expect 0 env SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=4 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=4 \
  "$psim" compare "$scenario" --out "$scratch/turns"
said 'slice 3/4: 3 of 12 runs are in this slice'
expect 0 "$psim" merge "$scratch/turns"
same "$whole" "$scratch/turns"
expect 0 "$psim" merge "$scratch/turns"
same "$whole" "$scratch/turns"

echo "killed half-way, and run again"
"$psim" compare "$scenario" --jobs 1 --threads 1 --out "$scratch/killed" --slice 1/1 >/dev/null 2>&1 &
process=$!
until_true 60 has_lines killed 2
kill -9 "$process"
wait "$process" 2>/dev/null
there=$(lines killed)
[ "$there" -lt 12 ] || fail "it was too late to kill it"
# What a process leaves that is killed as it writes, and a line that a disk has spoilt.
file=$(ls "$scratch"/killed/results/*.jsonl)
grep -m 1 '"summary":' "$file" | cut -c 1-200 | tr -d '\n' >"$scratch/killed/results/torn.jsonl"
sed -i '0,/"updates":[0-9]/s/"updates":[0-9]*/"updates":1/' "$file"
: >"$scratch/killed/study.json.new-$(uname -n)-1"
expect 1 "$psim" merge "$scratch/killed"
said '2 results in'
said "$((12 - there + 1)) of 12 runs are missing"
[ ! -e "$scratch/killed/study.json.new-$(uname -n)-1" ] || fail "merge leaves what a killed process had begun"
for n in 2 1 3; do expect 0 env PARALLEL_SEQ=$n "$psim" compare "$scenario" --out "$scratch/killed" --slice /3; done
expect 0 "$psim" merge "$scratch/killed"
same "$whole" "$scratch/killed"

echo "killed before the study stands in its folder"
mkdir "$scratch/begun"
: >"$scratch/begun/study.json.new-$(uname -n)-1"
expect 0 slice begun 1/12
said '1 of 12 runs are in this slice'
[ -f "$scratch/begun/small.toml" ] || fail "the scenario is not in the study's folder"
rm "$scratch/begun/small.toml"
expect 0 slice begun 2/12
[ -f "$scratch/begun/small.toml" ] || fail "the scenario did not come back into the study's folder"

echo "results of two builds"
cp -R "$scratch/begun" "$scratch/line"
build=$(sed -n 's/.*"build": "\([0-9a-f]*\)".*/\1/p' "$scratch/begun/manifest.json")
sed -i "s/\"build\":\"$build\"/\"build\":\"0123456789abcdef\"/" "$scratch"/line/results/*.jsonl
expect 2 "$psim" merge "$scratch/line"
said 'has results of another build of psim'
sed -i "s/\"build\": \"$build\"/\"build\": \"0123456789abcdef\"/" "$scratch/begun/manifest.json"
expect 2 "$psim" merge "$scratch/begun"
said 'has results of another build of psim'
expect 2 slice begun 3/12
said 'another build of psim started the study'
sed 's/epochs = 6/epochs = 7/' "$scenario" >"$scratch/other.toml"
expect 2 "$psim" compare "$scratch/other.toml" --out "$scratch/turns" --slice 1/2
said 'holds another study'

echo "the recipe for Slurm, with a stand-in for sbatch that runs the tasks of an array at once"
place="$scratch/it's 100 % \$oß"
mkdir "$scratch/bin" "$place"
cat >"$scratch/bin/sbatch" <<'END'
#!/bin/sh
script=$(mktemp)
cat >"$script"
last=1 log=
for option; do
  case $option in
    --array=1-*) last=${option#--array=1-} ;;
    --output=*) log=$(printf %s "${option#--output=}" | sed 's/%%/%/g') ;;  # with %a
  esac
done
for task in $(seq "$last"); do
  SLURM_ARRAY_TASK_ID=$task sh "$script" >>"$(printf %s "$log" | sed "s/%a/$task/")" 2>&1 ||
    echo "task $task: exit code $?" >&2
done
rm "$script"
echo '17;other'
END
chmod +x "$scratch/bin/sbatch"
study=$place/studies/small
cp "$scenario" "$place/small.toml"
expect 0 "$psim" compare "$place/small.toml" --out "$study" --recipe slurm --slices 3
cp "$scratch/said" "$scratch/recipe.sh"
expect 0 env PATH="$scratch/bin:$PATH" sh "$scratch/recipe.sh" --partition=any
[ "$(cat "$scratch/said")" = 'job 17: slices 1 to 3, round 1 of 1
job 17: merge' ] || fail "this is not what it says: $(cat "$scratch/said")"
grep -q 'runs missed the target' "$study.slurm-merge.out" || fail "the merge does not say what came out"
"$psim" compare "$place/small.toml" --out "$scratch/other" >/dev/null 2>&1
same "$scratch/other" "$study"

echo "halving: every round needs the one before, and slices agree with one process"
halving=$scratch/halving.toml
cat >"$halving" <<'END'
[data]
validation_fraction = 0.25
[training]
batch_size = 16
epochs = 1
[cluster]
workers = 2
[compare]
consistency = ["bsp", "asp"]
seeds = [1, 2]
[tune]
method = "halving"
trials = 8
seeds = [11, 12, 13, 14]
"training.learning_rate" = { from = 0.001, to = 1.0 }
END
expect 0 "$psim" compare "$halving" --threads 1 --out "$scratch/halved"
for round in 1 2 3 4; do
  for n in 2/2 1/2; do expect 0 "$psim" compare "$halving" --threads 1 --out "$scratch/halves" --slice $n; done
done
expect 0 "$psim" merge "$scratch/halves"
same "$scratch/halved" "$scratch/halves"
[ "$(wc -l <"$scratch/halved/trials.csv")" -eq 17 ] || fail "trials.csv has not each setting of each arm"

echo "what is no slice"
for wrong in '' / 3/ /x x/y 0/4 5/4 4 -1/4 +1/4 1/4/2 ' 1/4' 1/0 /0 0/0 99999999999999999999/99999999999999999999; do
  expect 2 slice wrong "$wrong"
  said '= help: '
done
expect 2 slice wrong /4
said 'without these write 1/4'
expect 2 env PARALLEL_SEQ=5 "$psim" compare "$scenario" --out "$scratch/wrong" --slice /4
said 'this is task 5'
expect 2 env SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=4 \
  "$psim" compare "$scenario" --out "$scratch/wrong"
said 'this task is not among them'
[ ! -e "$scratch/wrong" ] || fail "something was made"
expect 0 slice far 99999999999/99999999999
said '0 of 12 runs are in this slice'
echo "done"
