cat >arm_contradiction.toml <<'END'
[model]
layers = [64, 32, 10]
[training]
epochs = 1
[compare]
seeds = [1, 2]
arm = [
  { name = "as it is" },
  { name = "backup", consistency = { model = "k-sync", k = 9 } },
]
END
psim compare arm_contradiction.toml
code=$?
rm arm_contradiction.toml
exit $code
