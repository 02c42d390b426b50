cat >arms.toml <<'END'
[model]
layers = [64, 8, 10]
[training]
batch_size = 8
steps = 4
[cluster]
workers = 2
[consistency]
model = "ssp"
staleness = 3
[compare]
"cluster.servers" = [1, 2]
arm = [
  { name = "as it is" },
  { name = "asp, small steps", consistency = "asp", training = { learning_rate = 0.02, momentum = 0.9, optimizer = "momentum" } },
  { name = "slow", straggler = [{ workers = [1], slowdown = 4 }], "cluster.worker.speed" = "1Gf" },
]
END
sed '/^\[compare\]/,$d' arms.toml >tables.toml
cat >>tables.toml <<'END'
[compare]
"cluster.servers" = [1, 2]
[[compare.arm]]
name = "as it is"
[[compare.arm]]
name = "asp, small steps"
consistency.model = "asp"
[compare.arm.training]
learning_rate = 0.02
momentum = 0.9
optimizer = "momentum"
[[compare.arm]]
name = "slow"
cluster.worker.speed = "1Gf"
[[compare.arm.straggler]]
workers = [1]
slowdown = 4
END
psim check arms.toml 2>&1 >/dev/null
psim compare arms.toml --seeds 1,2 --markdown | grep '^|' | cut -d'|' -f2,3 | head -8
psim compare tables.toml --seeds 1,2 --json >tables.json
psim compare arms.toml --seeds 1,2 --json | diff - tables.json | grep -E '"(digest|condition|arm)"'
psim compare tables.toml --set 'arm=[{ name = "a", seed = 3, consistency = "ssp 1", training = { steps = 5, learning_rate = 0.3 } }, { name = "b" }]' --set cluster.servers=1 >said
grep '^  psim run ' said
sh -c "$(grep '^  psim run ' said) --json" | grep -o '"consistency": .*'
rm -rf arms.toml tables.toml tables.json studies said
