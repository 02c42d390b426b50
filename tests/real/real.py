"""docs/real.md: psim beside real clusters.

    python3 tests/real/real.py PSIM

Simulates every run of the tables in tests/real, and rewrites the page if it says something else; then the exit code is 1.
The rows about PyTorch are those of `python3 tests/real/pytorch.py PSIM` on one machine (pytorch.csv).
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys

import errors

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/real.md"
TABLES = [("`bbr`, 200 Mb/s (measured by others)", "bbr_200mbit", "191.2Mbps"),
          ("`bbr`, 400 Mb/s", "bbr_400mbit", "382.4Mbps"), ("`cubic`, 200 Mb/s", "cubic_200mbit", "191.2Mbps"),
          ("`cubic`, 400 Mb/s", "cubic_400mbit", "382.4Mbps")]


def percent(value):
    return f"{round(value, 1) + 0.0:+.1f} %"


def rows_of(path):
    with open(HERE / path, encoding="ascii") as table:
        return list(csv.DictReader(table))


def line(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(*cells):
    return [line(*cells), "|" + "---|" * len(cells)]


def ps_lite(psim):
    tables = [(name, errors.compare(psim, rate, HERE / f"ps_lite/{file}.csv"),
               errors.compare(psim, rate, HERE / f"ps_lite/{file}.csv", ["cluster.network.share_start=0B"]))
              for name, file, rate in TABLES]
    text = head("table", "runs", "bsp and ssp: median, worst", "asp: median, worst", "without first turns: bsp, asp")
    for name, rows, plain in tables:
        text.append(line(name, len(rows), errors.summary(rows, False), errors.summary(rows, True),
                         f"{errors.summary(plain, False)}; {errors.summary(plain, True)}"))
    text += ["", "All runs of the first table. Brackets: the shortest and the longest of psim's four seeds.", ""]
    text += head("workers, servers", "model", "slow worker", "real step [ms]", "psim [ms]", "error")
    for run, steps in tables[0][1]:
        text.append(line(f"{run['workers']}, {run['servers']}", run["consistency"],
                         "" if run["slowdown"] == "1" else f"{run['slowdown']} x", f"{1e3 * float(run['step_s']):.1f}",
                         f"{1e3 * statistics.fmean(steps):.1f} [{1e3 * min(steps):.1f}, {1e3 * max(steps):.1f}]",
                         percent(errors.error(run, steps))))
    return text


def wide_area(psim):
    rows = rows_of("torchft/wide_area.csv")

    def step(row, seconds=0.8, cost=0.0):  # a ring of two has two rounds, and a receiver's time in each
        return errors.simulated_step(psim, HERE / "torchft/wide_area.toml", [
            f"training.inner.steps={row['steps']}", f"cluster.network.bandwidth={0.956 * float(row['mbit'])}Mbps",
            f"compute.time={seconds}s", f"cluster.network.endpoint.receive_overhead={cost / 2}s"])

    one, many = rows[0], rows[1]
    step_s = (float(many["sync_s"]) - float(one["sync_s"])) / (int(many["steps"]) - int(one["steps"]))
    cost = float(one["sync_s"]) - step(one, step_s)
    text = [f"Fitted to the two rows with 1000 Mb/s: {1e3 * step_s:.0f} ms for a step, and {cost:.2f} s for what a sync "
            "costs besides its bytes (the quorum, and copies between device and host).", ""]
    text += head("link", "H", "real, from sync to sync [s]", "psim [s]", "error", "")
    for row in rows:
        seconds = step(row, step_s, cost)
        text.append(line(f"{row['mbit']} Mb/s", row["steps"],
                         f"{row['sync_s']} [{row['shortest_s']}, {row['longest_s']}]", f"{seconds:.2f}",
                         percent(100 * (seconds / float(row["sync_s"]) - 1)),
                         "fitted" if row["mbit"] == one["mbit"] else "predicted"))
    return text


def storm(psim):
    def pushes(sets):
        found = []
        for seed in range(1, errors.SEEDS + 1):
            command = [psim, "run", HERE / "torchft/storm.toml", "--json", "--trace", "none", "--seed", str(seed)]
            answer = subprocess.run(command + sets, capture_output=True, text=True, check=True)
            run = json.loads(answer.stdout)
            found.append((run["steps"] / run["updates"], run["steps"]))
        return found

    with_faults, without = pushes([]), pushes(["--set", "fault=[]"])
    share = [100 * a[1] / b[1] for a, b in zip(with_faults, without)]
    taking_part = [one[0] for one in with_faults]

    def of(values, digits=1):
        return f"{statistics.fmean(values):.{digits}f} [{min(values):.{digits}f}, {max(values):.{digits}f}]"

    return head("32 replicas, 125 faults an hour, 30 minutes", "real", "psim") + [
        line("replicas in a sync, mean", "16.1 (median 16)", of(taking_part)),
        line("syncs against a run without faults", "97.7 %", of(share) + " %")]


def pytorch():
    text = head("change", "measured [ms]", "psim [ms]", "error")
    for row in rows_of("pytorch.csv"):
        error = 100 * (float(row["predicted_ms"]) / float(row["measured_ms"]) - 1)
        text.append(line(row["change"], row["measured_ms"],
                         f"{row['predicted_ms']} [{row['low_ms']}, {row['high_ms']}]", percent(error)))
    return text


def main():
    psim = str(pathlib.Path(sys.argv[1]).resolve())
    parts = {"PS_LITE": ps_lite(psim), "WIDE_AREA": wide_area(psim), "STORM": storm(psim), "PYTORCH": pytorch()}
    page = (HERE / "real.md.in").read_text(encoding="utf-8")
    for name, lines in parts.items():
        page = page.replace(f"@{name}@", "\n".join(lines))
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
        return
    PAGE.write_text(page, encoding="utf-8")
    sys.exit(f"{PAGE} was stale; it is rewritten now: look at it and commit it")


if __name__ == "__main__":
    main()
