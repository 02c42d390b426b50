#!/bin/sh
# same_digests.sh PSIM PSIM SCENARIOS: two builds of psim give the same digests.
set -eu
different=0
compare() {
  a=$("$first" run "$@" --json | grep '"digest"')
  b=$("$second" run "$@" --json | grep '"digest"')
  [ -n "$a" ] && [ "$a" = "$b" ] || { echo "different: $*: $a $b"; different=1; }
}
first=$1 second=$2 scenarios=$3
compare "$scenarios/worked_example.toml"
compare "$scenarios/quickstart.toml" --set training.epochs=1
compare "$scenarios/quickstart.toml" --set training.epochs=1 --set consistency.model=asp --set training.optimizer=adam
compare "$scenarios/quickstart.toml" --set training.epochs=1 --set 'consistency={model="k-batch-sync",k=5}' --set model.activation=tanh
compare "$scenarios/quickstart.toml" --set training.epochs=1 --set model.precision=float64 --set model.activation=sigmoid
compare "$scenarios/stragglers.toml" --set training.epochs=2 --set 'consistency={model="ssp",staleness=2}'
compare "$scenarios/bandwidth.toml" --set training.steps=5 --set cluster.network.topology=two-tier
compare "$scenarios/clicks.toml" --set training.epochs=1 --set consistency.model=asp
compare "$scenarios/topologies.toml" --set training.steps=3 --set cluster.network.topology=dragonfly
compare "$scenarios/simgrid_platform.toml" --set training.epochs=1
compare "$scenarios/exponential.toml" --set training.duration=20s --set compute.distribution=gamma --set compute.cv=0.7
exit $different
