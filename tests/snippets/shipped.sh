#!/bin/sh
# Studies that psim makes of shipped scenarios, recomputed from their runs.
#   shipped.sh PSIM SOURCE [--all]      Exit code 77: python3 is not installed.
# Between them: targets that all runs reach, that some miss, and none; one condition and three; failures; a
# baseline that is not the first arm; and 2, 3 and 5 seeds.
set -eu
psim=$1
source=$2
command -v python3 >/dev/null || { echo "skipped: python3 is not installed (Debian: python3)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

recomputed() {
  study=$1
  scenario=$2
  shift 2
  code=0
  "$psim" compare "$source/scenarios/$scenario.toml" --out "$study" "$@" >said 2>&1 || code=$?
  # 1: some run missed its target.
  [ "$code" -le 1 ] || { cat said; exit 1; }
  python3 "$source/tests/snippets/reanalyse_study.py" "$study"
}

recomputed reached stragglers
recomputed missed stragglers --set training.duration=1500ms --baseline asp
recomputed plain compression --seeds 1,2
if [ "${3:-}" = --all ]; then
  recomputed crash server_crash
  recomputed narrow stragglers --until-ci 40%
fi

# Steps of a trace: all seeds are one observation, whatever their times.
printf '1\n1.5\n0.5\n2\n' >steps.txt
cat >traced.toml <<'END'
[model]
layers = [64, 10]
[training]
batch_size = 16
learning_rate = 0.5
epochs = 40
evaluate_every = "1 updates"
target = { accuracy = 0.8 }
[cluster]
workers = 2
[compute]
distribution = "trace"
trace = "steps.txt"
[compare]
consistency = ["bsp", "asp"]
seeds = [1, 2, 3, 4]
END
"$psim" compare traced.toml --out traced >said 2>&1 || { cat said; exit 1; }
grep -q '"replicates": false' traced/study.json || { echo "runs of one trace are taken for replicates"; exit 1; }
python3 "$source/tests/snippets/reanalyse_study.py" traced

# Seeds that draw a cluster: intervals of one further run, and no p values.
sed 's/^trace = .*/&\ntrace_resample = "blocks of 2 steps"\ntrace_sample = "draw"/' traced.toml >drawn.toml
"$psim" compare drawn.toml --out drawn >said 2>&1 || { cat said; exit 1; }
grep -q '"predicted": true' drawn/study.json || { echo "a drawn cluster does not predict"; exit 1; }
python3 "$source/tests/snippets/reanalyse_study.py" drawn

# Two conditions, tuned: the profiles are those of the tuned arms.
cat >tuned.toml <<'END'
[data]
validation_fraction = 0.25
[training]
batch_size = 16
epochs = 2
[cluster]
workers = 2
[compare]
consistency = ["bsp", "asp"]
"cluster.workers" = [2, 4]
seeds = [1, 2, 3]
[tune]
"training.learning_rate" = { from = 0.001, to = 1.0, points = 3 }
END
"$psim" compare tuned.toml --out tuned >said 2>&1 || { cat said; exit 1; }
grep -q '"profiles"' tuned/study.json || { echo "a tuned study has no profiles"; exit 1; }
python3 "$source/tests/snippets/reanalyse_study.py" tuned
