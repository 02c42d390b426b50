"""How far simulated steps are from measured ones, for a table of real runs.

    python3 tests/real/errors.py PSIM BANDWIDTH TABLE.csv [KEY=VALUE...]

The table has the columns of tests/real/ps_lite/measure.py, and BANDWIDTH is that of every link, such as 191.2Mbps. Each run
is simulated with four seeds, ps-lite's 64 keys, Linux's first turns (128 KiB), cm02, a latency of 30 us, acknowledgements,
and the fields of KEY=VALUE. Of the runs with more than one worker the script prints the median and the largest error,
those of bsp and ssp apart from those of asp.
"""
import concurrent.futures
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

SEEDS, KEYS = 4, 64


def simulated_step(psim, scenario, sets):
    command = [psim, "run", scenario, "--json", "--trace", "none"] + [part for one in sets for part in ("--set", one)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if not answer.stdout:
        sys.exit(answer.stderr)
    return statistics.fmean(worker["mean_step_s"] for worker in json.loads(answer.stdout)["workers"])


def fields(run, bandwidth):
    sets = {"model.kind": "phantom", "model.arrays": [int(run["model_bytes"]) // 4 // KEYS] * KEYS,
            "placement.kind": "round-robin", "training.steps": run["steps"], "consistency": run["consistency"],
            "messages.acknowledge": run["messages.acknowledge"], "cluster.workers": run["workers"],
            "cluster.servers": run["servers"], "cluster.network.bandwidth": bandwidth,
            "cluster.network.latency": "30us", "cluster.network.simgrid_model": "cm02",
            "cluster.network.cross_traffic": "true", "cluster.network.share_start": "128KiB",
            "compute.time": run["compute_ms"] + "ms"}
    if float(run["slowdown"]) != 1:
        sets["straggler"] = f"[{{workers = [0], slowdown = {run['slowdown']}}}]"
    return [f"{key}={value}" for key, value in sets.items()]


def compare(psim, bandwidth, path, sets=()):
    """For each run of the table: the run, and the simulated steps in seconds, by seed."""
    with open(path, encoding="ascii") as table:
        runs = list(csv.DictReader(table))
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write("title = \"a run\"\n")
        file.flush()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda run: (run, [
                simulated_step(psim, file.name, fields(run, bandwidth) + [f"seed={seed}", *sets])
                for seed in range(1, SEEDS + 1)]), runs))


def error(run, steps):
    """In percent."""
    return 100 * (statistics.fmean(steps) / float(run["step_s"]) - 1)


def summary(rows, is_asp):
    """The median and the largest error of the runs with several workers; None: there are none."""
    some = [error(*row) for row in rows
            if (row[0]["consistency"] == "asp") == is_asp and int(row[0]["workers"]) > 1]
    return f"{statistics.median(map(abs, some)):.1f} %, {max(some, key=abs):+.1f} %" if some else None


def main():
    psim, bandwidth, path, *sets = sys.argv[1:]
    rows = compare(psim, bandwidth, path, sets)
    for run, steps in rows:
        print(f"{run['workers']:>3} workers {run['servers']:>2} servers {run['consistency']:6} "
              f"{int(run['model_bytes']) / 1e6:5.1f} MB  {error(run, steps):+6.1f} %")
    for name, is_asp in (("bsp and ssp", False), ("asp", True)):
        if text := summary(rows, is_asp):
            print(f"{name}: median error and worst {text}")


if __name__ == "__main__":
    main()
