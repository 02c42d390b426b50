cat >diverged.toml <<'END'
[data]
source = "inline"
inputs = [[1], [2]]
targets = [[1], [2]]
[model]
layers = [1, 1]
loss = "half-sse"
[training]
batch_size = 1
steps = 60
learning_rate = 100.0
evaluate_every = "1 update"
[cluster]
workers = 1
[compare]
"consistency.model" = ["bsp", "asp"]
END
psim compare diverged.toml 2>&1 | grep -E '^(model|bsp|asp) |rror|^note|!'; rm -rf diverged.toml studies
