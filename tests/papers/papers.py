"""docs/papers.md: published results beside psim's.

    python3 tests/papers/papers.py PSIM

Runs the scenarios of papers.toml, and rewrites the page if it says something else; then the exit code is 1. A result
`reproduces` if the paper has numbers, psim meets every one within 10 % (or it lies in the paper's range), and every statement holds
in every seed. Without a number of the paper, `statement holds`. It is `in direction` if the statements hold, and the numbers lie on
the paper's side of 1.
"""
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/papers.md"
NEAR = 0.10


def runs_of(psim, scenario):
    """By seed: the summaries, by arm and values of the conditions."""
    command = [psim, "compare", f"scenarios/papers/{scenario}.toml", "--json", "--trace", "none"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not answer.stdout:
        sys.exit(answer.stderr)
    seeds = {}
    for run in json.loads(answer.stdout)["runs"]:
        name = (run["arm"], *(run["condition"] or {}).values())
        seeds.setdefault(run["seed"], {})[name] = run
    return list(seeds.values())


def names_of(runs):
    """The names that an expression uses, for the runs of one seed."""
    def best(workers):
        momenta = sorted({name[0] for name in runs}, key=float)
        return float(min(momenta, key=lambda m: runs[(m, str(workers))]["final"]["loss"]))

    return {"of": lambda *name: runs[name], "best": best, "math": math,
            "reached": lambda run: run["target"]["sim_time_s"] or math.inf}


def shown(value):
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def judge(result, seeds):
    """The rows of a result, and its verdict."""
    rows, is_near, is_on_side = [], True, True
    has_numbers = any("paper" in number for number in result.get("numbers", []))
    for number in result.get("numbers", []):
        values = [eval(number["psim"], names_of(runs)) for runs in seeds]  # pylint: disable=eval-used
        mean, paper = statistics.fmean(values), number.get("paper")
        missed = sum(math.isinf(value) for value in values)
        spread = f", not reached in {missed} of {len(values)} seeds" if missed else f" [{shown(min(values))}, {shown(max(values))}]" if len(values) > 1 else ""
        rows.append((number["what"], "" if paper is None else
                     f"{paper[0]} to {paper[1]}" if isinstance(paper, list) else paper, (shown(min(values)) if missed else shown(mean)) + spread))
        if paper is not None:
            low, high = paper if isinstance(paper, list) else (paper * (1 - NEAR), paper * (1 + NEAR))
            is_near &= low <= mean <= high
            is_on_side &= isinstance(paper, list) or (mean > 1) == (paper > 1)
    holds = all(eval(one, names_of(runs)) for one in result.get("holds", []) for runs in seeds)  # pylint: disable=eval-used
    if holds and is_near:
        return rows, "reproduces" if has_numbers else "statement holds"
    return rows, "in direction" if holds and is_on_side else "differs"


def sources():
    text = (ROOT / "sim/scenario/reference/references.bib").read_text(encoding="utf-8")
    found = {}
    for key, body in re.findall(r"@\w+\{(\w+),\n(.*?)\n\}", text, re.S):
        fields = dict(re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", body, re.M))
        authors = [name.split(",")[0] for name in fields.get("author", "").split(" and ")]
        who = " and ".join(authors) if len(authors) < 3 else authors[0] + " et al."
        where = fields.get("booktitle") or fields.get("journal") or fields.get("note")
        found[key] = f"{who}: {fields['title']} ({', '.join(filter(None, (where, fields.get('year'))))})"
    return found


def main():
    psim = str(pathlib.Path(sys.argv[1]).resolve())
    results = tomllib.loads((HERE / "papers.toml").read_text(encoding="utf-8"))["result"]
    known, summary, parts = sources(), [], []
    for result in results:
        seeds = runs_of(psim, result["scenario"])
        rows, verdict = judge(result, seeds)
        title = known[result["cited"]]
        summary.append(f"| [{title}](#{result['scenario'].replace('_', '-')}) | {verdict} |")
        parts += ["", f"## {result['scenario'].replace('_', ' ')}", "", title + ".", "", f"- The paper: {result['claim']}",
                  f"- psim: [{result['scenario']}.toml](../scenarios/papers/{result['scenario']}.toml), {len(seeds)} seed"
                  f"{'s' if len(seeds) > 1 else ''}: **{verdict}**.", f"- {result['why']}", "",
                  "| | the paper | psim |", "|---|---|---|"]
        parts += [f"| {what} | {paper} | {value} |" for what, paper, value in rows]
    count = {word: str(sum(line.endswith(f"| {word} |") for line in summary)) for word in ("reproduces", "statement holds")}
    head = (HERE / "papers.md.in").read_text(encoding="utf-8").rstrip("\n")
    head = head.replace("@COUNT@", str(len(results))).replace("@REPRODUCED@", count["reproduces"])
    head = head.replace("@HOLD@", count["statement holds"])
    page = "\n".join([head, "", "| result | verdict |", "|---|---|", *summary, *parts]) + "\n"
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
        return
    PAGE.write_text(page, encoding="utf-8")
    sys.exit(f"{PAGE} was stale; it is rewritten now: look at it and commit it")


if __name__ == "__main__":
    main()
