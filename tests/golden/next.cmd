cat >small.toml <<'END'
[model]
layers = [64, 8, 10]
[training]
batch_size = 8
steps = 4
evaluate_every = "1 update"
target = { accuracy = 0.99 }
[cluster]
workers = 2
END
psim run small.toml --set consistency.model=asp --set 'model.layers=[64, 10]' --seed 7 --out run | grep '^wrote'
psim replay run | sed 's/.*events)/same events/'
psim compare small.toml --set consistency.staleness=2 --set 'consistency.model=[ssp, dssp]' --seeds 1,2 >said
sed -n '/^target/p; /runs in/,$p' said | sed 's/-[0-9a-f]\{8\}/-HASH/g'
sh -c "$(grep '^  psim run ' said)" | grep -o '^wrote runs'
rm -rf small.toml run runs studies said
