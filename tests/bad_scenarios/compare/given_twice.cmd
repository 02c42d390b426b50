set -e
cat >twice.toml <<'END'
[model]
kind = "phantom"
parameters = 100
[training]
steps = 1
END
trap 'rm twice.toml' EXIT
set +e
psim compare twice.toml --seeds 1,2 --seed 7
psim compare twice.toml --set 'seed=[1,2]' --seeds 3
psim compare twice.toml --set 'seed=[1,2]' --seed 9
psim compare twice.toml --set seed=4 --seeds 1,2
psim compare twice.toml --set 'compare.seeds=[3,4]' --seeds 5
psim compare twice.toml --set 'training.steps=[3,4]' --set training.steps=5
psim compare twice.toml --set 'training.steps=[3,4]' --set 'training.steps=[5]'
psim compare twice.toml --set '=[1]'
