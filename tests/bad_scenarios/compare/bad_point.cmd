cat >point.toml <<'END'
[model]
kind = "phantom"
parameters = 100

[training]
steps = 1

[cluster]
workers = 4

[compare]
consistency = [
  "bsp",
  { model = "k-sync", k = 3 },
]
"cluster.workers" = [2, 4]
seeds = [1, 2]
END
psim check point.toml
psim compare point.toml
code=$?
rm point.toml
exit $code
