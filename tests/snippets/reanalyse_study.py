#!/usr/bin/env python3
"""Recomputes what study.json says of times and comparisons from runs.csv alone, with the formulas of
tests/analysis/reanalysis.py.   reanalyse_study.py FOLDER      Exit code 0: every number agrees to 1e-9.

Kaplan-Meier means are checked up to the budget that study.json states; how that budget is chosen is for unit tests.
"""
import csv
import json
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "analysis"))
import reanalysis as own  # noqa: E402

SEED, RESAMPLES, DRAWS = 1, 10000, 20000


def read(folder):
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    with open(folder / "runs.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells = {}
    for row in rows:
        key = row["arm"], tuple(row[axis] for axis in study["condition_axes"])
        reached = row["time_s"] != ""
        budget = float(row["budget_s"] or "inf")
        time = float(row["time_s"]) if reached else budget
        cells.setdefault(key, {})[int(row["seed"])] = (time, reached, budget, row)
    return study, cells


def finite(x):
    return x if x is not None and math.isfinite(x) else None


def compare(place, mine, theirs, wrong):
    if isinstance(theirs, list):
        for i, (a, b) in enumerate(zip(mine, theirs)):
            compare(f"{place}/{i}", a, b, wrong)
    elif (mine is None) != (theirs is None):
        wrong.append(f"{place}: {theirs}, here {mine}")
    elif mine is not None and abs(mine - theirs) > 1e-9 * max(1.0, abs(mine)):
        wrong.append(f"{place}: {theirs}, here {mine}")


def times_of(runs, told):
    """Restricted mean, its deviation and the median, up to the stated budget."""
    tau = told["budget_s"]
    if told["method"] == "kaplan-meier":
        mean, _ = own.kaplan_meier_area([(t, r) for t, r, _, _ in runs.values()], tau)
        return {"restricted_mean_s": mean}
    times = [min(t, tau) for t, _, _, _ in runs.values()]
    reached = sorted(t for t, r, _, _ in runs.values() if r and t <= tau)
    half = (len(runs) + 1) // 2
    return {"restricted_mean_s": statistics.fmean(times),
            "restricted_sd_s": statistics.stdev(times) if len(times) > 1 else None,
            "median_s": reached[half - 1] if len(reached) >= half else None}


def comparison_of(runs, base, tau):
    seeds = sorted(set(runs) & set(base))
    pairs = [(min(runs[s][0], tau), min(base[s][0], tau)) for s in seeds]
    value, low, high = own.symmetric_interval(pairs, own.difference, SEED, RESAMPLES)
    result = {"seeds": len(pairs), "difference_s": value, "difference_ci95": [finite(low), finite(high)],
              "p_better": statistics.fmean(0.5 if a == b else float(a < b) for a, b in pairs),
              "p_better_unpaired": own.better([a for a, _ in pairs], [b for _, b in pairs]),
              "p_value": own.sign_flip([a - b for a, b in pairs], SEED, DRAWS)}
    if min(min(pair) for pair in pairs) > 0:
        ratio, low, high = map(own.exp, own.symmetric_interval(pairs, own.log_ratio, SEED, RESAMPLES))
        result["ratio"], result["ratio_ci95"] = ratio, [finite(low), finite(high)]
    return result


def main():
    study, cells = read(pathlib.Path(sys.argv[1]))
    wrong, p_values, numbers, scores = [], {}, 0, {}
    for told in study["aggregates"]:
        condition = tuple(told["condition"].values())
        place, runs = f"{told['arm']} {condition}", cells[told["arm"], condition]
        compare(f"{place} n", len(runs), told["n"], wrong)
        mine = {}
        if told["time_to_target"]:
            mine = times_of(runs, told["time_to_target"])
            for key, value in mine.items():
                compare(f"{place} {key}", value, told["time_to_target"][key], wrong)
            median = told["time_to_target"]["median_s"]
        elif told["time_s"]:
            median = statistics.fmean(t for t, _, _, _ in runs.values())
            compare(f"{place} time_s", median, told["time_s"]["mean"], wrong)
        else:
            median = None
        scores.setdefault(condition, {})[told["arm"]] = math.inf if median is None else median
        for key, value in told.items():
            if isinstance(value, dict) and key in runs[min(runs)][3]:
                known = [float(run[3][key]) for run in runs.values() if run[3][key] != ""]
                compare(f"{place} {key}", statistics.fmean(known), value["mean"], wrong)
                compare(f"{place} {key} sd", statistics.stdev(known) if len(known) > 1 else None, value["sd"], wrong)
                numbers += 2
        versus = told["versus_baseline"]
        if versus:
            base = cells[study["baseline"], condition]
            tau = math.inf if versus["budget_s"] is None else versus["budget_s"]
            mine_versus = comparison_of(runs, base, tau)
            for key, value in mine_versus.items():
                compare(f"{place} {key}", value, versus[key], wrong)
            hashes = tuple(tuple(sorted(run[3]["run"] for run in cell.values())) for cell in (runs, base))
            p_values.setdefault(hashes, (mine_versus["p_value"], []))[1].append((place, versus["p_value_holm"]))
            numbers += len(mine_versus)
        numbers += 1 + len(mine)
    for p, (_, told) in zip(own.holm([p for p, _ in p_values.values()]), p_values.values()):
        for place, value in told:
            compare(f"{place} p_value_holm", p, value, wrong)
    for profile in study.get("profiles", []):
        ratios = []
        for arms in scores.values():
            best = min(arms.values())
            ratios.append(arms[profile["arm"]] / best if math.isfinite(arms[profile["arm"]]) else math.inf)
        compare(f"{profile['arm']} score", own.score(ratios), profile["score"], wrong)
        numbers += 1
    print("\n".join(wrong) or f"{numbers} numbers agree to 1e-9")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
