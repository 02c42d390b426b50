"""Predictions for a real PyTorch parameter server (docs/examples/real_cluster), against measurements of the changes.

    python3 tests/real/pytorch.py PSIM

Measures a log of four workers under bsp, calibrates psim with it, predicts three changes (eight workers, ssp, a worker
that is twice as slow), measures them, and prints both. Exit code 1 if a prediction is wrong by more than 5 % and its
interval does not hold the measured time; 77 without PyTorch.
"""
import csv
import importlib.util
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/real_cluster/parameter_server.py"
STEPS, STUDENT = 300, 2.262  # the 97.5 % quantile of Student's t with 9 degrees of freedom
CHANGES = [("eight workers", ["--workers", "8"], ["cluster.workers=8", "compute.trace_workers=draw"]),
           ("ssp with staleness 3", ["--consistency", "ssp"], ["consistency=ssp 3"]),
           ("worker 0 twice as slow", ["--slow", "2"], ["straggler=[{workers=[0], slowdown=2.0}]"])]


def measure(path, options):
    command = [sys.executable, PROGRAM, "--steps", str(STEPS), "--log", path] + options
    subprocess.run(command, check=True, timeout=600)
    with open(path, encoding="ascii") as log:
        rows = list(csv.DictReader(log))
    return statistics.fmean(sum(float(r[c]) for c in ("compute_s", "push_s", "pull_s")) for r in rows)


def predict(psim, scenario, sets):
    """The mean time of a step, and the factor by which the 95 % interval of one run is wider on each side."""
    logs = []
    for seed in range(1, 11):
        command = [psim, "run", scenario, "--json", "--trace", "none", "--seed", str(seed)]
        for one in sets:
            command += ["--set", one]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        logs.append(math.log(statistics.fmean(worker["mean_step_s"] for worker in answer["workers"])))
    width = STUDENT * statistics.stdev(logs) * math.sqrt(1 + 1 / len(logs))
    return math.exp(statistics.fmean(logs)), math.exp(width)


def main():
    if importlib.util.find_spec("torch") is None:
        print("skipped: this Python has no PyTorch (Debian: python3-torch)")
        sys.exit(77)
    psim, wrong = os.path.abspath(sys.argv[1]), False
    with tempfile.TemporaryDirectory() as folder:
        base = measure(f"{folder}/base.csv", [])
        fit = [psim, "calibrate", f"{folder}/base.csv", "-o", f"{folder}/fit", "--servers", "1", "--consistency", "bsp"]
        subprocess.run(fit, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        scenario = f"{folder}/fit/scenario.toml"
        for name, options, sets in [("as it is", None, [])] + CHANGES:
            measured = base if options is None else measure(f"{folder}/change.csv", options)
            predicted, width = predict(psim, scenario, sets)
            error = predicted / measured - 1
            holds = predicted / width <= measured <= predicted * width
            wrong |= abs(error) > 0.05 and not holds
            print(f"{name:24} measured {1e3 * measured:6.1f} ms   predicted {1e3 * predicted:6.1f} "
                  f"[{1e3 * predicted / width:.1f}, {1e3 * predicted * width:.1f}] ms   {100 * error:+.1f} %")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
