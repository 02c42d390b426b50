while IFS= read -r line; do
  printf '%s\n' "$line" >alone.toml
  psim check alone.toml
done <<'LINES'
title = None
bias = True
staleness_aware = yes
duration = 60s
cross_traffic = FALSE
seed = 99999999999999999999
batch_size = 016
workers = 1_
servers = 0x
steps = -9223372036854775809
batch_size = 0xFFFFFFFFFFFFFFFFF
seed = = 4
epochs 5
learning_rate = 0.1 0.2
workers = 4 workers
größe = 16
duration = 50µs
epochs = é5
source = "dig
  layers: [64, 32, 10]
[cluster]]
between = [["server 0", "a"]
target = { accuracy = 0.9
LINES
code=$?
rm alone.toml
exit $code
