# What people write from habit: each line, and the help that ends the mistake.
while read -r line; do
  printf 'psim %s\n' "$line"
  eval "psim $line" 2>&1 | sed -n 's/^ *= help: /    /p'
done <<'END'
run files/sound.toml --workers 16
run files/sound.toml --servers=4
run files/sound.toml --seeds 5
run files/sound.toml --lr 0.1
run files/sound.toml --batch-size 64
run files/sound.toml --num-epochs 3
run files/sound.toml --bandwidth 10Gbps
run files/sound.toml --output here
run files/sound.toml --runs 10
run files/sound.toml -n 4
run files/sound.toml --nodes 4
run files/sound.toml --ntasks=4
run files/sound.toml --time 00:10:00
run files/sound.toml --verbose
run files/sound.toml -q
run files/sound.toml --dry-run
run files/sound.toml --warmup 3
run files/sound.toml --config other.toml
run files/sound.toml --param lr=0.1
run files/sound.toml --model ssp
run files/sound.toml --thraeds 2
compare files/sound.toml --parallel 4
compare files/sound.toml --export-json out.json
compare files/sound.toml --export-markdown out.md
compare files/sound.toml --array=1-10
compare files/sound.toml --seeds 20000
compare files/sound.toml --seeds 0
export latest --pdf x.pdf
runs -k asp
plot latest
sweep files/sound.toml
simulate files/sound.toml
apply -f files/sound.toml
sbatch files/sound.toml
logs latest
get runs
squeue
rm latest
init my.toml
validate files/sound.toml
diff a b
files/sound.toml
calibrate nofile.csv
calibrate files/sound.tml -o d
explain stale
explain straggle
run files/sound.toml consistency=ssp3
run files/sound.toml consistency=SSP-3
run files/sound.toml consistency=ssp:3
run files/sound.toml consistency=k-sync4
run files/sound.toml consistency=hogwild
run files/sound.toml training.optimizer=AdamW
run files/sound.toml training.optimizer=SGD
run files/sound.toml architecture.kind=ddp
run files/sound.toml seeds=1-5
run files/sound.toml lr=0.1
run files/sound.toml workers=16
run files/sound.toml training.num_train_epochs=3
run files/sound.toml training.manual_seed=3
run files/sound.toml cluster.world_size=4
run files/sound.toml cluster.network.delay=1ms
run files/sound.toml cluster.network.bandwidth=10Gb
run files/sound.toml cluster.network.bandwidth=10GB/s
run files/sound.toml cluster.network.bandwidth=100Mbit/s
run files/sound.toml cluster.network.bandwidth=10G
run files/sound.toml cluster.network.bandwidth=125MiB/s
run files/sound.toml cluster.network.bandwidth=1e9
run files/sound.toml cluster.network.latency=5
run files/sound.toml cluster.network.latency=5msec
run files/sound.toml 'cluster.network.latency=20 µs'
run files/sound.toml cluster.worker.speed=10GFLOPS
run files/sound.toml cluster.worker.speed=1TFlop/s
run files/sound.toml cluster.worker.memory=16Gi
run files/sound.toml cluster.worker.memory=64gb
run files/sound.toml training.duration=1hour
run files/sound.toml training.duration=2days
check files/sound.toml 'compare.seeds="1-5"'
check files/sound.toml compare.seeds=5
check files/sound.toml compare.consistency=asp
END
