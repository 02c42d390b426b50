#!/usr/bin/env python3
"""Reads this study's runs.csv and study.json: the time of each arm, and how it compares with the baseline.

A run that missed its target counts with the budget: of its arm for the arm's mean, and of the two arms for their
ratio. Without a target the time is that of the whole run, which is infinite if the run got stuck.
docs/statistics.md of psim has the formulas.
"""
import csv
import json
import math
import pathlib
import statistics

try:
    import pandas
except ImportError:  # the standard library will do
    pandas = None

here = pathlib.Path(__file__).resolve().parent


def read(name):
    """The rows of a CSV file, each a dict of texts; an empty text is a value that is not known."""
    if pandas is not None:
        return pandas.read_csv(here / name, dtype=str, keep_default_na=False).to_dict("records")
    with open(here / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


study = json.loads((here / "study.json").read_text(encoding="utf-8"))
axes = study["condition_axes"]
conditions = {}
for run in read("runs.csv"):
    condition = conditions.setdefault(tuple(run[axis] for axis in axes), {})
    condition.setdefault(run["arm"], {})[int(run["seed"])] = run


def time(run, budget=math.inf):
    return min(float(run["time_s"] or "inf"), budget)


def budgets(runs):
    """Of the runs that missed their target; infinite for those that got stuck."""
    return [float(run["budget_s"]) for run in runs if run["reached"] == "0"]


def mean_time(runs):
    """The area under the Kaplan-Meier curve up to the arm's own budget, and whether some run needs longer. With one
    budget for all runs it is the mean of the times, none of which counts more than the budget."""
    if not any(run["reached"] for run in runs):  # no target
        return statistics.fmean(map(time, runs)), False
    missed = [budget for budget in budgets(runs) if budget < math.inf]
    reached = sorted(time(run) for run in runs if time(run) < math.inf)
    latest = max(reached, default=0)
    if len(set(missed)) > 1 or missed and latest > min(missed):
        tau = max(reached + missed) if math.inf not in budgets(runs) else latest or min(missed)
    else:
        tau = missed[0] if missed else latest
    if len(reached) == len(runs):
        return statistics.fmean(reached), False
    if not missed and not reached:
        return math.inf, False
    watched = [time(run) if run["time_s"] else float(run["budget_s"] or "inf") for run in runs]
    area, begin, survival = 0, 0, 1
    for end in sorted({t for t in reached if t <= tau}):
        area += survival * (end - begin)
        survival *= 1 - reached.count(end) / sum(t >= end for t in watched)
        begin = end
    return area + survival * (tau - begin), len(reached) < len(runs) or latest > tau


def versus(arm, base):
    """The geometric mean of the ratios of times, seed by seed, up to the budget of the two arms."""
    seeds = [seed for seed in arm if seed in base]
    runs = [runs[seed] for runs in (arm, base) for seed in seeds]
    budget = min(budgets(runs), default=math.inf)
    pairs = [(time(arm[seed], budget), time(base[seed], budget)) for seed in seeds]
    both = [seconds for pair in pairs for seconds in pair]
    if not pairs:
        return ""
    if math.inf in both:
        return "; no ratio to the baseline's time: a run got stuck, so that it has no end"
    if min(both) <= 0:
        return "; no ratio to the baseline's time: a run took no time"
    ratio = statistics.geometric_mean([own / other for own, other in pairs])
    return f", {ratio:.3f} of the baseline's time" + (f" up to {budget:.4g} s" if budget < math.inf else "")


for condition, arms in conditions.items():
    print(", ".join(f"{axis} = {value}" for axis, value in zip(axes, condition)) or "all runs")
    for arm, by_seed in arms.items():
        mean, more = mean_time(list(by_seed.values()))
        reached = sum(run["reached"] == "1" for run in by_seed.values())
        line = f"  {arm or 'as it is':30} {len(by_seed)} runs, {'>= ' if more else ''}{mean:.4g} s"
        if any(run["reached"] for run in by_seed.values()):
            line += f", target reached by {reached}/{len(by_seed)}"
        if arm != study["baseline"]:
            line += versus(by_seed, arms.get(study["baseline"], {}))
        print(line)

if pandas is not None:
    # Names stay texts, also "NA" and "01", and numbers are those that psim wrote.
    names = dict.fromkeys(["arm", *axes], str)
    numbers = [name for name in pandas.read_csv(here / "curves.csv", nrows=0) if name not in names]
    curves = pandas.read_csv(here / "curves.csv", dtype=names, keep_default_na=False,
                             na_values=dict.fromkeys(numbers, ""), float_precision="round_trip")
    if len(curves) > 0 and curves["loss"].notna().any():
        print(curves.groupby(["arm", *axes], sort=False, dropna=False)["loss"].min().to_string())
