"""How often predictions of calibrated scenarios are right, on synthetic clusters.

    python3 tests/calibrate/coverage.py PSIM [CLUSTERS [STEPS]]     200 and 400

Every cluster is drawn: the number of workers, the distribution of a step, bursts, an autocorrelation, unequal workers,
effects that all workers share. psim gets a log of the first STEPS steps, and predicts the ratios of ssp, k-sync and asp
to bsp with 20 seeds. The truth is a run with the next STEPS steps as they are. 95 % intervals must hold 90 to 98 % of the
true ratios, and the median error of a ratio is at most 3 %.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

SEEDS, STUDENT = "1-20", 2.093  # the 97.5 % quantile of Student's t with 19 degrees of freedom


def lognormal(cv, normal):
    sigma = math.sqrt(math.log1p(cv * cv))
    return math.exp(sigma * normal - sigma * sigma / 2)


def autoregressive(draw, steps, memory):
    level = draw.gauss(0, 1)
    for _ in range(steps):
        yield level
        level = memory * level + math.sqrt(1 - memory * memory) * draw.gauss(0, 1)


def own_effect(draw, steps, kind, cv, tail):
    """Factors without memory: gamma, lognormal or Pareto."""
    for _ in range(steps):
        if kind == "gamma":
            yield draw.gammavariate(1 / cv**2, cv**2)
        elif kind == "lognormal":
            yield lognormal(cv, draw.gauss(0, 1))
        else:
            yield draw.paretovariate(tail) * (tail - 1) / tail


def bursts(draw, steps, slowdown, begins, ends):
    slow = draw.random() < begins / (begins + ends)
    for _ in range(steps):
        yield slowdown if slow else 1
        slow = draw.random() >= ends if slow else draw.random() < begins


def cluster(draw, steps):
    """Seconds of each step: a list of steps for each worker."""
    workers = draw.choice((4, 8, 12))
    effects = draw.choice(("none", "autocorrelated", "bursts", "shared", "autocorrelated bursts"))
    unequal = draw.uniform(0, 0.15) if draw.random() < 0.6 else 0
    kind, cv, tail = draw.choice(("gamma", "lognormal", "pareto")), draw.uniform(0.02, 0.25), draw.uniform(2.5, 5)
    memory, drift = draw.uniform(0.7, 0.98), draw.uniform(0.05, 0.25)
    slowdown, begins, ends = draw.uniform(1.5, 4), draw.uniform(0.005, 0.05), draw.uniform(0.1, 0.5)
    shared = list(autoregressive(draw, steps, draw.uniform(0, 0.9)))
    result = []
    for _ in range(workers):
        mean = 0.1 * math.exp(draw.gauss(0, unequal))
        times = [mean * factor for factor in own_effect(draw, steps, kind, cv, tail)]
        if "autocorrelated" in effects:
            levels = autoregressive(draw, steps, memory)
            times = [time * lognormal(drift, level) for time, level in zip(times, levels)]
        if "bursts" in effects:
            times = [time * factor for time, factor in zip(times, bursts(draw, steps, slowdown, begins, ends))]
        if effects == "shared":
            times = [time * lognormal(drift, level) for time, level in zip(times, shared)]
        result.append(times)
    return result


def compare(psim, folder, arms, seeds, extra):
    """The logarithm of each run's time, by arm and seed."""
    command = [psim, "compare", folder / "fit/scenario.toml", "--set", f"consistency={arms}", "--seeds", seeds, "--json",
               "--jobs", "1", "--out", folder / f"study{len(extra)}", *extra]
    study = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    times = {}
    for run in study["runs"]:
        times.setdefault(run["arm"], {})[run["seed"]] = math.log(run["sim_time_s"])
    return times


def errors_of(psim, number, steps):
    """For each arm but bsp: the error of the predicted ratio, and half the width of its interval, as logarithms."""
    times = cluster(random.Random(number), 2 * steps)
    workers = len(times)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with open(folder / "log.csv", "w", encoding="ascii") as log:
            log.write("worker,step,compute_s\n")
            log.writelines(f"{w},{s},{times[w][s]:.6g}\n" for w in range(workers) for s in range(steps))
        fit = [psim, "calibrate", folder / "log.csv", "-o", folder / "fit", "--hold-out", "0", "--consistency", "bsp"]
        subprocess.run(fit, check=True, capture_output=True)
        with open(folder / "fit/next.csv", "w", encoding="ascii") as log:
            log.writelines(",".join(f"{t[s]:.6g}" for t in times) + "\n" for s in range(steps, 2 * steps))
        arms = f'["bsp", "ssp 3", {{model="k-sync", k={workers - max(1, workers // 6)}}}, "asp"]'
        predicted = compare(psim, folder, arms, SEEDS, [])
        truth = compare(psim, folder, arms, "1", ["--set", "compute.trace=next.csv", "--set",
                                                  "compute.trace_resample=as it is", "--set",
                                                  "compute.trace_sample=whole"])
    result = []
    for arm in list(predicted)[1:]:
        ratios = [predicted[arm][seed] - predicted["bsp"][seed] for seed in predicted[arm]]
        true = truth[arm][1] - truth["bsp"][1]
        width = STUDENT * statistics.stdev(ratios) * math.sqrt(1 + 1 / len(ratios))
        result.append((arm, statistics.fmean(ratios) - true, width))
    return result


def main():
    psim = os.path.abspath(sys.argv[1])
    clusters, steps = (int(a) for a in (sys.argv[2:] + ["200", "400"][len(sys.argv) - 2:]))
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, row in enumerate(pool.map(lambda n: errors_of(psim, n, steps), range(clusters)), 1):
            rows += row
            if done % 20 == 0:
                print(f"{done} of {clusters} clusters", flush=True)

    def report(name, rows):
        held = sum(abs(error) <= width for _, error, width in rows) / len(rows)
        error = statistics.median(abs(math.expm1(error)) for _, error, _ in rows)
        print(f"{name:8}  {len(rows)} ratios, intervals hold {100 * held:.1f} %, median error {100 * error:.2f} %")
        return held, error

    for arm in dict.fromkeys(arm for arm, _, _ in rows):
        report(arm, [row for row in rows if row[0] == arm])
    held, error = report("all", rows)
    sys.exit(0 if 0.90 <= held <= 0.98 and error <= 0.03 else 1)


if __name__ == "__main__":
    main()
