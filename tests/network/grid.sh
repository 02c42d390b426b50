#!/bin/sh
# grid.sh PSIM [SEEDS]: how far the step times of the two models of the network are from each other, over numbers of
# workers and servers, sizes of messages and both asynchronous models. Prints a row for each case, the mean over the
# seeds, and fails where any is off by more than 20 %.
set -eu
psim=$1 seeds=${2:-4}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/one.toml" <<'END'
[model]
kind = "phantom"
[training]
batch_size = 1
steps = 60
[cluster.network]
bandwidth = "100MBps"
[compute]
time = "60ms"
END

# mean MODEL WORKERS SERVERS KILOBYTES CONSISTENCY
mean() {
    seed=1
    while [ "$seed" -le "$seeds" ]; do
        "$psim" run "$folder/one.toml" --json --seed "$seed" --set cluster.network.model="$1" --set cluster.workers="$2" \
            --set cluster.servers="$3" --set model.parameters=$(($4 * 250 * $3)) --set consistency="$5" 2>/dev/null |
            sed -n 's/.*"sim_time_s": *\([0-9.e+-]*\).*/\1/p' | head -1
        seed=$((seed + 1))
    done | awk '{ sum += $1; n += 1 } END { printf "%.6f", sum / n }'
}

echo "consistency workers servers kB fluid_s nic_s error_percent"
for consistency in asp "ssp 2"; do
    for workers in 2 3 4 6 10 16 40; do
        for servers in 1 2 8; do
            for size in 64 1000 4000 16000; do
                fluid=$(mean fluid $workers $servers $size "$consistency")
                nic=$(mean nic $workers $servers $size "$consistency")
                echo "$consistency $workers $servers $size $fluid $nic"
            done
        done
    done
done | awk '{ error = 100 * ($NF / $(NF - 1) - 1); printf "%s %.1f\n", $0, error; if (error < 0) error = -error
              if (error > worst) worst = error }
            END { printf "worst: %.1f %%\n", worst; exit worst > 20 }'
