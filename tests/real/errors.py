"""How far simulated steps are from measured ones, for a table of real runs.

    python3 tests/real/errors.py PSIM BANDWIDTH TABLE.csv [KEY=VALUE...]

The table has the columns of tests/real/ps_lite/measure.py, and BANDWIDTH is that of every link, such as 191.2Mbps. Each run
is simulated with four seeds, cm02, a latency of 30 us, acknowledgements, and the fields of KEY=VALUE. Of the runs with
more than one worker the script prints the median and the largest error, those of bsp and ssp apart from those of asp.
"""
import concurrent.futures
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

SEEDS = 4


def simulated_step(psim, scenario, bandwidth, run, sets, seed):
    fields = {"model.kind": "phantom", "model.parameters": int(run["model_bytes"]) // 4, "seed": seed,
              "training.steps": run["steps"], "consistency": run["consistency"],
              "messages.acknowledge": run["messages.acknowledge"], "cluster.workers": run["workers"],
              "cluster.servers": run["servers"], "cluster.network.bandwidth": bandwidth,
              "cluster.network.latency": "30us", "cluster.network.simgrid_model": "cm02",
              "cluster.network.cross_traffic": "true", "compute.time": run["compute_ms"] + "ms"}
    if float(run["slowdown"]) != 1:
        fields["straggler"] = f"[{{workers = [0], slowdown = {run['slowdown']}}}]"
    command = [psim, "run", scenario, "--json", "--trace", "none"]
    for field in [f"{key}={value}" for key, value in fields.items()] + sets:
        command += ["--set", field]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if not answer.stdout:
        sys.exit(answer.stderr)
    return statistics.fmean(worker["mean_step_s"] for worker in json.loads(answer.stdout)["workers"])


def main():
    psim, bandwidth, path, *sets = sys.argv[1:]
    with open(path, encoding="ascii") as table:
        runs = list(csv.DictReader(table))

    def error(run):
        steps = [simulated_step(psim, scenario, bandwidth, run, sets, seed) for seed in range(1, SEEDS + 1)]
        return 100 * (statistics.fmean(steps) / float(run["step_s"]) - 1)

    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write("title = \"a run\"\n")
        file.flush()
        scenario = file.name
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = list(pool.map(error, runs))
    for run, one in zip(runs, errors):
        print(f"{run['workers']:>3} workers {run['servers']:>2} servers {run['consistency']:6} "
              f"{int(run['model_bytes']) / 1e6:5.1f} MB  {one:+6.1f} %")
    for name, is_asp in (("bsp and ssp", False), ("asp", True)):
        some = [one for run, one in zip(runs, errors)
                if (run["consistency"] == "asp") == is_asp and int(run["workers"]) > 1]
        if some:
            print(f"{name}: median error {statistics.median(map(abs, some)):.1f} %, "
                  f"worst {max(some, key=abs):+.1f} %")


if __name__ == "__main__":
    main()
