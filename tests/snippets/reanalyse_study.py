#!/usr/bin/env python3
"""Recomputes what study.json says of the runs from runs.csv, with the formulas of tests/analysis/reanalysis.py.

    reanalyse_study.py FOLDER      Exit code 0: every number agrees to 1e-9.

Every number of an aggregate and of a profile is there; a key that is unknown here is a fault. manifest.json says which
runs have the step times of a trace. Taken from study.json: which arm is the baseline, each arm's budget (how it is
chosen is for unit tests), a run's largest staleness, and which arm learns clearly more.
"""
import csv
import functools
import json
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "analysis"))
import reanalysis as own  # noqa: E402

SEED, RESAMPLES, DRAWS = 1, 0, 20000
FEWEST_SEEDS = 5


@functools.cache
def student(degrees, steps=2000):
    """The 97.5 % quantile: sqrt(degrees) tan(angle), where the angle's density goes as cos(angle)^(degrees - 1)."""
    def area(end):
        h = end / steps  # Simpson's rule
        return h / 3 * math.fsum((1 if i in (0, steps) else 4 if i % 2 else 2) * math.cos(i * h) ** (degrees - 1)
                                 for i in range(steps + 1))
    low, high, whole = 0.0, math.pi / 2, area(math.pi / 2)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if area(middle) < 0.95 * whole else (low, middle)
    return math.sqrt(degrees) * math.tan(low)


def student_interval(values):
    if len(values) < 2:
        return None
    half = student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return [max(0.0, mean - half), mean + half]


def statistic(values):
    """Values may be "inf", where a loss has left all bounds: then neither mean nor deviation is finite."""
    if not values:
        return None
    if not all(map(math.isfinite, values)):
        return {"mean": None, "sd": None, "n": len(values)}
    return {"mean": statistics.fmean(values), "sd": statistics.stdev(values) if len(values) > 1 else None,
            "n": len(values)}


def finite(x):
    return x if x is not None and math.isfinite(x) else None


def read(folder):
    """study.json, and {(arm, condition): {seed: (time, reached, budget, row)}}."""
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    manifest = folder / "manifest.json"  # studies made by hand have none
    runs = json.loads(manifest.read_text(encoding="utf-8"))["runs"] if manifest.exists() else []
    traced = {run["run"] for run in runs if run.get("by_trace")}
    predicting = {run["run"] for run in runs if "predicts" in run}
    cells = {}
    with open(folder / "runs.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["arm"], tuple(row[axis] for axis in study["condition_axes"])
            reached = row["time_s"] != ""
            budget = float(row["budget_s"] or "inf")
            row["by_trace"], row["predicts"] = row["run"] in traced, row["run"] in predicting
            time = float(row["time_s"]) if reached else budget
            cells.setdefault(key, {})[int(row["seed"])] = (time, reached, budget, row)
    return study, cells


def has_target(runs):
    return all(row["reached"] != "" for _, _, _, row in runs.values())


def times_of(runs, told):
    """What a cell says of the time to the target, up to the budget that it states."""
    tau = told["budget_s"]
    watched = [(t, r) for t, r, _, _ in runs.values()]
    if told["method"] == "kaplan-meier":
        mean, variance = own.kaplan_meier_area(watched, tau)
        times = sorted(t for t, r in watched if r and t <= tau)
        half = next((t for t in times if survival(watched, t) <= 0.5 + 1e-12), None)
        return {"restricted_mean_s": mean, "restricted_sd_s": None, "median_s": half,
                "restricted_mean_ci95": kaplan_meier_interval(mean, variance, len(runs), tau)}
    times = [min(t, tau) for t, _ in watched]
    interval = student_interval(times)
    if all(r and t <= tau for t, r in watched):
        interval = prediction_interval(times) if predicts(runs) and len(times) > 1 else interval
    else:
        interval = None if min(times) >= tau or interval is None else [interval[0], min(tau, interval[1])]
    reached = sorted(t for t, r in watched if r and t <= tau)
    half = (len(runs) + 1) // 2
    return {"restricted_mean_s": statistics.fmean(times), "restricted_mean_ci95": interval,
            "restricted_sd_s": statistics.stdev(times) if len(times) > 1 else None,
            "median_s": reached[half - 1] if len(reached) >= half else None}


def kaplan_meier_interval(mean, variance, n, tau):
    if n < 2 or mean >= tau:
        return None
    half = student(n - 1) * math.sqrt(n / (n - 1) * variance)
    return [max(0.0, mean - half), min(tau, mean + half)]


def survival(watched, time):
    product = 1.0
    for t in sorted({t for t, r in watched if r and t <= time}):
        product *= 1 - sum(r and s == t for s, r in watched) / sum(s >= t for s, _ in watched)
    return product


def by_trace(runs):
    """Whether step times are those of a file, the same for every seed."""
    return any(row["by_trace"] for _, _, _, row in runs.values())


def predicts(runs):
    """Whether seeds draw what is not known about a real cluster."""
    return all(row["predicts"] for _, _, _, row in runs.values())


def prediction_interval(values):
    """That of one further value."""
    half = student(len(values) - 1) * statistics.stdev(values) * math.sqrt(1 + 1 / len(values))
    return [statistics.fmean(values) - half, statistics.fmean(values) + half]


def alike(runs):
    """Whether seeds change no time: then they are one observation."""
    times = [t for t, _, _, _ in runs.values()]
    return len(times) > 1 and not predicts(runs) and (by_trace(runs) or (
        all(r for _, r, _, _ in runs.values()) and max(times) - min(times) <= 1e-3 * max(times)))


def is_test(versus):
    return versus["replicates"] and not versus["predicted"]


def reached_of(runs, base, seeds):
    arm, other = [runs[s][1] for s in seeds], [base[s][1] for s in seeds]
    p = own.mcnemar(sum(a and not b for a, b in zip(arm, other)), sum(b and not a for a, b in zip(arm, other)))
    decides = p <= 0.05 or (sum(arm) == 0 and all(other)) or (sum(other) == 0 and all(arm))
    return {"arm": sum(arm), "baseline": sum(other), "p_value": p, "p_value_holm": None, "decides": decides}


def comparison_of(runs, base, long_enough):
    seeds = sorted(set(runs) & set(base))
    # Each seed counts up to the budget of its run that missed.
    missed = {s: [run[2] for run in (runs[s], base[s]) if not run[1] and math.isfinite(run[2])] for s in seeds}
    taus = {s: min(missed[s], default=long_enough) for s in seeds}
    pairs = [(min(runs[s][0], taus[s]), min(base[s][0], taus[s])) for s in seeds]
    budget = min(taus.values())
    value, low, high = own.symmetric_interval(pairs, own.difference, SEED, RESAMPLES)
    result = {"seeds": len(pairs), "difference_s": value, "difference_ci95": [finite(low), finite(high)],
              "p_better": statistics.fmean(0.5 if a == b else float(a < b) for a, b in pairs),
              "p_better_unpaired": own.better([a for a, _ in pairs], [b for _, b in pairs]),
              "p_value": own.sign_flip([a - b for a, b in pairs], SEED, DRAWS),
              "trustworthy": len(pairs) >= FEWEST_SEEDS and low < high, "ratio": None, "ratio_ci95": None}
    if min(min(pair) for pair in pairs) > 0:
        ratio, low, high = map(own.exp, own.symmetric_interval(pairs, own.log_ratio, SEED, RESAMPLES))
        result["ratio"], result["ratio_ci95"] = ratio, [finite(low), finite(high)]
    result.update(budget_s=finite(budget), order=None)
    if has_target(runs) and max(map(max, pairs)) > budget:
        wins = sum(a < b for a, b in pairs), sum(b < a for a, b in pairs)
        result.update(order=dict(zip(("arm", "baseline"), wins)), p_value=own.mcnemar(*wins))
    def cut(run, tau):
        return not run[1] or run[0] > tau
    ways = [(cut(runs[s], taus[s]), cut(base[s], taus[s])) for s in seeds] if has_target(runs) else []
    result.update(cut_arm=ways.count((True, False)), cut_baseline=ways.count((False, True)),
                  cut_both=ways.count((True, True)), p_value_holm=None)
    result["reached"] = reached_of(runs, base, seeds) if has_target(runs) else None
    result["replicates"] = len(seeds) < 2 or not ((alike(runs) and alike(base)) or by_trace(runs) or by_trace(base))
    if not result["replicates"]:
        result.update(difference_ci95=[None, None], p_value=None, trustworthy=False)
        result["ratio_ci95"] = [0, None] if result["ratio"] else None
    result["predicted"] = result["replicates"] and len(pairs) > 1 and predicts(runs) and predicts(base)
    if result["predicted"]:
        result.update(difference_ci95=prediction_interval([a - b for a, b in pairs]), p_value=None)
        if result["ratio"]:
            logs = prediction_interval([math.log(a / b) for a, b in pairs])
            result["ratio_ci95"] = [math.exp(one) for one in logs]
    if result["reached"] and result["p_value"] is None:
        result["reached"]["p_value"] = None
    return result


def aggregate_of(study, cells, told):
    condition = tuple(told["condition"].values())
    runs, base = cells[told["arm"], condition], cells.get((study["baseline"], condition))
    rows = [row for _, _, _, row in runs.values()]
    mine = {"arm": told["arm"], "condition": told["condition"], "n": len(runs),
            "reached": sum(row["reached"] == "1" for row in rows), "time_to_target": None, "time_s": None,
            "versus_baseline": None, "cause": told["cause"]}  # the cause is no statistic
    mine["staleness_max"] = max(run["staleness"]["max"] for run in study["runs"]
                                if run["arm"] == told["arm"] and run["condition"] == told["condition"])
    if has_target(runs):
        stated = {key: told["time_to_target"][key] for key in ("budget_s", "method")}
        mine["time_to_target"] = {**stated, **times_of(runs, stated)}
        if alike(runs):
            mine["time_to_target"]["restricted_mean_ci95"] = None
    elif all(reached for _, reached, _, _ in runs.values()):
        mine["time_s"] = statistic([t for t, _, _, _ in runs.values()])
    losses = [(run["initial"]["loss"], run["final"]["loss"]) for run in study["runs"]
              if run["arm"] == told["arm"] and run["condition"] == told["condition"]
              and run.get("initial", {}).get("loss") is not None]
    mine["diverged"] = sum(last is None for _, last in losses)
    mine["unlearned"] = sum(last is not None and last >= first for first, last in losses)
    for key in told.keys() - mine.keys() - {"pareto"}:
        mine[key] = statistic([float(row[key]) for row in rows if row[key] != ""])
    if told["versus_baseline"]:
        both = [a["time_to_target"]["budget_s"] for a in study["aggregates"] if a["time_to_target"]
                and tuple(a["condition"].values()) == condition and a["arm"] in (told["arm"], study["baseline"])]
        mine["versus_baseline"] = {"learns": told["versus_baseline"]["learns"],
                                   **comparison_of(runs, base, max(both, default=math.inf))}
        versus = mine["versus_baseline"]
        ratio = versus["ratio"]
        decided = versus["reached"] and versus["reached"]["decides"]
        if "until_ci" in study and ratio and is_test(versus) and not decided and \
                2 * versus["cut_both"] < versus["seeds"]:
            half = mine["versus_baseline"]["ratio_ci95"][1] / ratio - 1
            mine["versus_baseline"]["narrow"] = half <= study["until_ci"]["half_width"]
    return mine


def correct(study, cells, aggregates):
    """Adds Holm's p values. Comparisons of the same runs, under conditions that mean nothing to them, are one. Returns
    what study.json says of the family."""
    family, fewest = {}, []
    for mine in aggregates:
        versus, condition = mine["versus_baseline"], tuple(mine["condition"].values())
        if versus is None or not is_test(versus) or ("tuning" in study and condition[-1] == "untuned"):
            continue
        fewest.append(versus["seeds"])
        both = cells[mine["arm"], condition], cells[study["baseline"], condition]
        hashes = tuple(tuple(cell[seed][3]["run"] for seed in sorted(cell)) for cell in both)
        if not versus["reached"] or versus["cut_both"] < versus["seeds"]:
            family.setdefault((hashes, "times"), []).append(versus)
        if versus["reached"]:
            runs, base = ([cell[s][1] for s in sorted(set(both[0]) & set(both[1]))] for cell in both)
            if own.mcnemar(sum(a != b for a, b in zip(runs, base)), 0) <= 0.05:
                family.setdefault((hashes, "reached"), []).append(versus["reached"])
    for p, same in zip(own.holm([same[0]["p_value"] for same in family.values()]), family.values()):
        for test in same:
            test["p_value_holm"] = p
    needed = next(n for n in range(1, 99) if len(family) * 2 / 2 ** n <= 0.05)
    return {"tests": len(family), "seeds": min(fewest), "seeds_needed": needed} if family else None


def mean_or(statistic_of, n, worst):
    return worst if statistic_of is None or statistic_of["n"] < n or statistic_of["mean"] is None else statistic_of["mean"]


def find_front(aggregates):
    """Who is beaten in one of time, bytes and accuracy, and better in none of them, is not on the front.
    Roundings beat nobody."""
    def costs(a):
        median = a["time_to_target"] and a["time_to_target"]["median_s"]
        time = (math.inf if median is None else median) if a["time_to_target"] else mean_or(a["time_s"], 0, math.inf)
        if not a["time_to_target"] and a["diverged"] + a["unlearned"] > 0:
            time = math.inf
        quality = 0 if a["time_to_target"] else -mean_or(a["final_accuracy"], a["n"], -math.inf)
        return time, mean_or(a["bytes_sent"], a["n"], math.inf), quality
    def sign(x, y):
        return 0 if x == y or math.isclose(x, y, rel_tol=1e-9) else -1 if x < y else 1

    def beats(a, b):
        signs = [sign(x, y) for x, y in zip(costs(a), costs(b))]
        return max(signs) <= 0 and min(signs) < 0
    for a in aggregates:
        failed = not a["time_to_target"] and a["diverged"] + a["unlearned"] > 0
        a["pareto"] = not failed and not any(beats(b, a) for b in aggregates if b["condition"] == a["condition"])


def profiles_of(aggregates, tuned):
    """{arm: its ratios to the best arm}, over the conditions that all arms have."""
    arms = list(dict.fromkeys(a["arm"] for a in aggregates))
    conditions = {}
    for a in aggregates:
        time = a["time_to_target"]["median_s"] if a["time_to_target"] else a["time_s"] and a["time_s"]["mean"]
        conditions.setdefault(tuple(a["condition"].values()), {})[a["arm"]] = math.inf if time is None else time
    # Of a study with [tune] each condition is there twice; how the arms are untuned is no condition of its own.
    whole = [times for condition, times in conditions.items()
             if len(times) == len(arms) and not (tuned and condition[-1] == "untuned")]
    return {arm: sorted(times[arm] / min(times.values()) if math.isfinite(times[arm]) else math.inf
                        for times in whole) for arm in arms}


class Comparison:
    def __init__(self):
        self.numbers, self.wrong = 0, []

    def compare(self, place, mine, theirs):
        if isinstance(mine, dict) and isinstance(theirs, dict):
            for key in mine.keys() | theirs.keys():
                if key in mine and key in theirs:
                    self.compare(f"{place}/{key}", mine[key], theirs[key])
                else:
                    self.wrong.append(f"{place}/{key}: only {'here' if key in mine else 'there'}")
        elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
            for i, (a, b) in enumerate(zip(mine, theirs)):
                self.compare(f"{place}/{i}", a, b)
        else:
            number = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (mine, theirs))
            same = abs(mine - theirs) <= 1e-9 * max(1.0, abs(mine)) if number else mine == theirs
            self.numbers += number
            if not same:
                self.wrong.append(f"{place}: {theirs}, here {mine}")


def main():
    study, cells = read(pathlib.Path(sys.argv[1]))
    check = Comparison()
    mine = [aggregate_of(study, cells, told) for told in study["aggregates"]]
    check.compare("holm", correct(study, cells, mine), study.get("holm"))
    find_front(mine)
    for a, told in zip(mine, study["aggregates"]):
        check.compare(f"{told['arm']} {tuple(told['condition'].values())}", a, told)
    if "until_ci" in study:
        narrow = [a["versus_baseline"]["narrow"] for a in mine if "narrow" in (a["versus_baseline"] or {})]
        check.compare("until_ci", {"narrow": all(narrow)}, {"narrow": study["until_ci"]["narrow"]})
    ratios = profiles_of(mine, "tuning" in study) if "profiles" in study else {}
    for told in study.get("profiles", []):
        own_ratios = ratios[told["arm"]]
        check.compare(f"profile of {told['arm']}", {"arm": told["arm"], "score": own.score(own_ratios),
                                                    "ratios": [finite(r) for r in own_ratios]}, told)
    print("\n".join(check.wrong) or f"{check.numbers} numbers agree to 1e-9")
    sys.exit(1 if check.wrong else 0)


if __name__ == "__main__":
    main()
