cat >small.toml <<'END'
[model]
layers = [64, 10]
[training]
steps = 2
evaluate_every = "1 update"
[cluster]
workers = 1
[compute]
time = "1ms"
[compare]
"training.learning_rate" = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4]
seeds = [4, 5]
END
psim compare small.toml | grep -E '^Curves|^Means|^versus|left out|^0 in every|^not shown'
rm -rf small.toml studies
