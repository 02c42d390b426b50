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

END
psim compare small.toml --set 'consistency=[bsp, ssp 3]' --seeds 1,2 --json | grep -E '"(arm|seed)": '
psim compare small.toml --set 'cluster.workers=[2, 3]' --set consistency='ssp 2' --json | grep '"arm": '
rm -rf small.toml studies
