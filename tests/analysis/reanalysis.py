#!/usr/bin/env python3
"""Recomputes the statistics of a study from its runs, by other means than psim: the standard library of Python 3,
its own formulas and its own copy of the random streams. Exit code 0: every number agrees to 1e-9.

    reanalysis.py runs.csv aggregates.json      compares
    reanalysis.py runs.csv                      prints its own numbers as such a JSON

runs.csv has a row for each run, with at least the columns arm, condition, seed, time_s, reached (true or 1),
budget_s. The first arm is the baseline of every condition. aggregates.json is
{"seed": S, "resamples": B, "draws": D, "tau_s": null or seconds, "conditions": {CONDITION: {ARM: NUMBERS}},
"scores": {ARM: S}} where tau_s null means the smallest budget of the condition. Any key may be missing; what is there
is compared. null stands for what is absent, and "inf" and "-inf" for what is unbounded.
"""
import csv
import json
import math
import statistics
import sys
from itertools import product

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def combine(key, value):
    return mix(key ^ mix((value + GOLDEN) & MASK))


class Stream:
    """psim's counter-based stream: the i-th number is a hash of (seed, purpose, who, step) and i."""

    def __init__(self, seed, purpose):
        key = mix((seed + 1) & MASK)
        for char in purpose.encode():
            key = combine(key, char)
        self.key = combine(combine(key, 0), 0)
        self.counter = 0

    def next(self):
        self.counter += 1
        return mix((self.key + GOLDEN * self.counter) & MASK)

    def below(self, n):
        draw = self.next()
        while draw < (1 << 64) % n:
            draw = self.next()
        return draw % n

    def uniform(self):
        return ((self.next() >> 12) + 0.5) / 2 ** 52

    def normal(self):
        radius = math.sqrt(-2 * math.log(self.uniform()))
        return radius * math.cos(2 * math.pi * self.uniform())


def kaplan_meier_area(runs, tau):
    """Area under the product-limit curve up to tau, and its variance; runs are (time, reached)."""
    times = sorted({t for t, reached in runs if reached and t <= tau})
    survival, steps = 1.0, []
    for time in times:
        at_risk = sum(t >= time for t, _ in runs)
        died = sum(t == time and reached for t, reached in runs)
        survival *= (at_risk - died) / at_risk
        steps.append((time, survival, at_risk, died))
    if tau > max(t for t, _ in runs) and survival > 0:
        return None, None
    edges = [(0.0, 1.0)] + [(t, s) for t, s, _, _ in steps]
    ends = [t for t, _ in edges[1:]] + [tau]
    area = sum(s * (end - begin) for (begin, s), end in zip(edges, ends))
    variance = 0.0
    for i, (_, _, at_risk, died) in enumerate(steps):
        after = sum(s * (end - begin) for (begin, s), end in list(zip(edges, ends))[i + 1:])
        if died < at_risk:
            variance += after ** 2 * died / (at_risk * (at_risk - died))
    return area, variance


def difference(pairs):
    """What each seed says, and the size of the numbers it was computed from."""
    return [a - b for a, b in pairs], max(abs(x) for pair in pairs for x in pair)


def log_ratio(pairs):
    return [math.log(a / b) for a, b in pairs], 1.0


STEPS = [statistics.NormalDist().inv_cdf((i + 0.5) / 4096) for i in range(4096)]


def resamples_for(n):
    return min(max(8_000_000 // n, 100_000), 1_000_000)


def mcnemar(arm, baseline):
    """Two-sided and exact, of the runs that only one of two arms ended well."""
    n, fewer = arm + baseline, min(arm, baseline)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(fewer + 1)) / 2 ** n)


def symmetric_interval(pairs, of, seed, resamples):
    """Mean over seeds and its 95 % interval by the symmetric studentised bootstrap of smoothed resamples."""
    values, size = of(pairs)
    n, value = len(values), statistics.fmean(values)
    if n < 2:
        return value, -math.inf, math.inf
    sd = statistics.stdev(values)
    if sd <= 1e-12 * size:
        return value, value, value
    sign = -1 if value < -1e-12 * size else 1
    values = sorted(sign * x for x in values)
    noise = 1.06 * sd / n ** 0.2
    stream = Stream(seed, "bootstrap")
    distances = []
    for _ in range(resamples or resamples_for(n)):
        words = [stream.next() for _ in range(n)]  # the upper half says which value, the last 12 bits which noise
        resample = [values[(word >> 32) * n >> 32] + noise * STEPS[word & 4095] for word in words]
        mean = math.fsum(resample) / n
        spread = math.sqrt(math.fsum((x - mean) ** 2 for x in resample) / (n - 1))
        distances.append(abs(mean - sign * value) / spread if spread > 0 else math.inf)
    half = sorted(distances)[math.ceil(0.95 * (len(distances) + 1)) - 1] * sd
    return value, value - half, value + half


def sign_flip(differences, seed, draws):
    observed = abs(math.fsum(differences)) - 1e-12 * math.fsum(map(abs, differences))
    n = len(differences)
    if n <= 16:
        signs = product((1, -1), repeat=n)
        hits = sum(abs(math.fsum(s * d for s, d in zip(sign, differences))) >= observed for sign in signs)
        return hits / 2 ** n
    sizes = sorted(map(abs, differences))
    stream = Stream(seed, "sign flips")
    hits = 0
    for _ in range(draws):
        total = 0.0
        for i, size in enumerate(sizes):
            if i % 64 == 0:
                bits = stream.next()
            total += -size if bits >> (i % 64) & 1 else size
        hits += abs(total) >= observed
    return (hits + 1) / (draws + 1)


def holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    result = [0.0] * len(p)
    for rank, i in enumerate(order):
        result[i] = max(min(1.0, (len(p) - k) * p[order[k]]) for k in range(rank + 1))
    return result


def better(arm, baseline):
    return sum(0.5 if x == y else float(x < y) for x in arm for y in baseline) / (len(arm) * len(baseline))


def score(ratios, r_max=4.0):
    """Integral of the step function rho from 1 to r_max, step by step."""
    edges = sorted({1.0, r_max, *(r for r in ratios if 1 < r < r_max)})
    area = sum((right - left) * sum(r <= left for r in ratios) for left, right in zip(edges, edges[1:]))
    return area / len(ratios) / (r_max - 1)


def numbers_of_arm(runs, tau):
    """Of runs {seed: (time, reached, budget)}; a missed run has its budget for a time."""
    restricted = [min(t, tau) for t, _, _ in runs.values()]
    reached = sorted(t for t, r, _ in runs.values() if r and t <= tau)
    half = (len(runs) + 1) // 2
    area, variance = kaplan_meier_area([(t, r) for t, r, _ in runs.values()], tau)
    known = all(r or budget >= tau for _, r, budget in runs.values())
    return {
        "runs": len(runs), "reached": len(reached), "tau_s": tau,
        "restricted_mean_s": statistics.fmean(restricted) if known else None,
        "restricted_sd_s": statistics.stdev(restricted) if known and len(runs) > 1 else None,
        "median_s": reached[half - 1] if len(reached) >= half else None,
        "survival_mean_s": area, "survival_variance_s2": variance,
    }


def numbers_of_pairs(runs, base, tau, how):
    seeds = sorted(set(runs) & set(base))
    pairs = [(min(runs[s][0], tau), min(base[s][0], tau)) for s in seeds]
    arm, baseline = [a for a, _ in pairs], [b for _, b in pairs]
    value, low, high = symmetric_interval(pairs, difference, how["seed"], how["resamples"])
    result = {
        "seeds": len(pairs), "difference": value, "difference_low": low, "difference_high": high,
        "better": statistics.fmean(0.5 if a == b else float(a < b) for a, b in pairs),
        "unpaired_better": better(arm, baseline),
        "p": sign_flip([a - b for a, b in pairs], how["seed"], how["draws"]),
    }
    ratio = (None, None, None)
    if min(arm + baseline) > 0:
        ratio = map(exp, symmetric_interval(pairs, log_ratio, how["seed"], how["resamples"]))
    result["ratio"], result["ratio_low"], result["ratio_high"] = ratio
    return result


def exp(x):
    return math.inf if x == math.inf else math.exp(x)


def read_runs(path):
    """{condition: {arm: {seed: (time, reached, budget)}}}, in the order of the file."""
    conditions = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            reached = row["reached"].strip().lower() in ("1", "true")
            budget = float(row["budget_s"])
            time = float(row["time_s"]) if reached else budget
            arms = conditions.setdefault(row["condition"], {})
            if int(row["seed"]) in arms.setdefault(row["arm"], {}):
                sys.exit(f"{path}: {row['condition']}, {row['arm']}: seed {row['seed']} is there twice")
            arms[row["arm"]][int(row["seed"])] = (time, reached, budget)
    return conditions


def analyse(conditions, how):
    result, means = {}, {}
    for condition, arms in conditions.items():
        tau = how["tau_s"] or min(b for runs in arms.values() for _, _, b in runs.values())
        base = next(iter(arms))
        result[condition] = {arm: numbers_of_arm(runs, tau) for arm, runs in arms.items()}
        family = [arm for arm in arms if arm != base]
        for arm in family:
            result[condition][arm].update(numbers_of_pairs(arms[arm], arms[base], tau, how))
        for arm, p in zip(family, holm([result[condition][arm]["p"] for arm in family])):
            result[condition][arm]["p_holm"] = p
        medians = {arm: result[condition][arm]["median_s"] for arm in arms}
        best = min((m for m in medians.values() if m is not None), default=math.inf)
        for arm, median in medians.items():
            means.setdefault(arm, []).append(math.inf if median is None else median / best)
    return {**how, "conditions": result, "scores": {arm: score(ratios) for arm, ratios in means.items()}}


def compare(mine, theirs, place, wrong):
    if isinstance(theirs, dict):
        for key, value in theirs.items():
            if not isinstance(mine, dict) or key not in mine:
                wrong.append(f"{place}/{key}: unknown here")
            else:
                compare(mine[key], value, f"{place}/{key}", wrong)
        return 0
    if isinstance(theirs, str):
        theirs = {"inf": math.inf, "-inf": -math.inf}.get(theirs, theirs)
    same = mine == theirs
    if not same and isinstance(mine, (int, float)) and isinstance(theirs, (int, float)):
        same = abs(mine - theirs) <= 1e-9 * max(1.0, abs(mine))
    if not same:
        wrong.append(f"{place}: {theirs}, here {mine}")


def printable(x):
    if isinstance(x, dict):
        return {key: printable(value) for key, value in x.items()}
    return ("inf" if x > 0 else "-inf") if isinstance(x, float) and math.isinf(x) else x


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    how = {"seed": 1, "resamples": 0, "draws": 20000, "tau_s": None}
    theirs = {}
    if len(sys.argv) == 3:
        with open(sys.argv[2], encoding="utf-8") as file:
            theirs = json.load(file)
        how.update({key: theirs[key] for key in how if key in theirs})
    mine = analyse(read_runs(sys.argv[1]), how)
    if not theirs:
        json.dump(printable(mine), sys.stdout, indent=2)
        print()
        return
    wrong = []
    compare(mine, theirs, "", wrong)
    print("\n".join(wrong) or "every number agrees to 1e-9")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
