#!/usr/bin/env python3
"""Reads this study's runs.csv and study.json: the time of each arm, and how it compares with the baseline.

A run that missed its target counts with the condition's budget, the smallest one of the runs that missed it.
Without a target the time is that of the whole run, which is infinite if the run got stuck.
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

for condition, arms in conditions.items():
    runs = [run for arm in arms.values() for run in arm.values()]
    missed = [float(run["budget_s"]) for run in runs if run["reached"] == "0"]
    budget = min(missed, default=math.inf)
    print(", ".join(f"{axis} = {value}" for axis, value in zip(axes, condition)) or "all runs")

    def time(run):
        return min(float(run["time_s"] or "inf"), budget)

    baseline = {seed: time(run) for seed, run in arms.get(study["baseline"], {}).items()}
    for arm, by_seed in arms.items():
        mean = statistics.fmean(time(run) for run in by_seed.values())
        pairs = [(time(run), baseline[seed]) for seed, run in by_seed.items() if seed in baseline]
        line = f"  {arm or 'as it is':30} {len(by_seed)} runs, {mean:.4g} s"
        if arm != study["baseline"] and pairs:
            both = [seconds for pair in pairs for seconds in pair]
            if math.inf in both:
                line += "; no ratio to the baseline's time: a run got stuck, so that it has no end"
            elif min(both) <= 0:
                line += "; no ratio to the baseline's time: a run took no time"
            else:
                ratio = statistics.geometric_mean([own / base for own, base in pairs])
                line += f", {ratio:.3f} of the baseline's time"
        print(line)

if pandas is not None:
    curves = pandas.read_csv(here / "curves.csv")
    if len(curves) > 0 and curves["loss"].notna().any():
        print(curves.groupby(["arm", *axes], sort=False, dropna=False)["loss"].min().to_string())
