# What a run writes down of its scenario has only what has a meaning, and is a scenario again.
cat >small.toml <<'END'
[model]
layers = [64, 10]
[training]
batch_size = 16
steps = 2
[cluster]
workers = 2
[compute]
time = "1ms"
END
psim run small.toml --out first >/dev/null
psim check first/scenario.toml >/dev/null
rm -rf small.toml first
