cat >small.toml <<'END'
[model]
kind = "phantom"
parameters = 1000
[training]
steps = 5
[cluster]
workers = 2
[compute]
time = "1ms"
[[straggler]]
workers = [1]
from = "1000s"
[[filter]]
kind = "top-k"
fraction = 1.0
END
psim run small.toml | grep -E 'note'
psim run small.toml --json | sed -n '/"notes"/,/\]/p'
psim compare small.toml --seeds 1,2 | grep '^note'
rm -rf small.toml runs studies
