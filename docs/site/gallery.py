"""The gallery: every scenario with its question, a picture, the answer and the commands."""
import re
import tomllib

from drawings import fold

HEAD = """# Gallery

This page has every scenario that comes with psim: its question, the answer, and a picture that psim drew with the
commands above it. If an answer is a sentence of [Features](features.md), "Measured by" lists the runs with its
numbers; most of these runs are shorter than the run of the picture. "What psim prints" has the numbers of all other
answers.
"""
WORDS = {"timeline": "Times of computing, sending and waiting.", "times": "The time of each arm.",
         "loss": "The loss over simulated time.", "pareto": "Time against bytes sent.",
         "clocks": "The clock of each worker.", "traffic": "Bytes sent, by kind."}


def groups(index):
    """Pairs of a group of docs/index.md's table of scenarios and its scenarios' names."""
    table = index.split("\n## Scenarios\n")[1].split("\n## ")[0]
    rows = [row.split("|")[1:3] for row in table.split("\n") if "](../scenarios/" in row]
    return [(about.strip(), re.findall(r"\]\(\.\./scenarios/(\w+)\.toml\)", cell)) for about, cell in rows]


def answer_of(root, feature):
    """The sentence of docs/features.md about a feature, and the runs with its numbers."""
    row = re.search(rf"^\| {re.escape(feature)}.*", (root / "docs/features.md").read_text(), re.M).group()
    sentence = row.split(" | ")[1]
    entries = re.sub(r"\n  +", " ", (root / "tests/docs/numbers/features.txt").read_text())
    runs = re.findall(r"^(\w+) = psim (run .*)", entries, re.M)
    for words in re.findall(r"^says: \| (.*) \|$", entries, re.M):
        parts = re.split(r"\{(.*?)\}", words)  # words and formulas in turn
        if re.fullmatch(".+".join(map(re.escape, parts[::2])), sentence):
            formulas = " ".join(parts[1::2])
            return sentence, [command for name, command in runs if f" {name}/" in formulas]
    raise SystemExit(f"tests/docs/numbers/features.txt has no such sentence: {sentence}")


def of_scenario(root, name):
    """A scenario's title, and its first comment up to "Try next"."""
    text = (root / f"scenarios/{name}.toml").read_text()
    title = tomllib.loads(text)["title"]
    lines = [line[2:] if line.startswith("# ") else "" for line in text.split("\ntitle = ")[0].split("\n")]
    about = "\n".join(lines).split("Try next")[0].strip()
    return title, about


def console(*commands):
    return "```console\n" + "".join(f"$ ./psim {command}\n" for command in commands) + "```\n"


def drawing(name, entry):
    """The commands that make the picture, with the comment that requests it."""
    if "run" in entry:
        picture, what, more = entry.get("picture", "timeline"), "run", [entry["run"], "--trace events"]
    else:
        picture, what, more = entry.get("picture", "times"), "compare", [entry.get("compare", "")]
    make = [what, f"scenarios/{name}.toml", *more, f"--out gallery/{name}"]
    export = ["export", f"gallery/{name}", "--svg charts", entry.get("export", "")]
    block = console(*(" ".join(filter(None, words)) for words in (make, export)))
    return f'<!-- drawing: charts/{picture}.svg "{WORDS[picture.split("-")[0]]}" and output -->\n{block}'


def section(root, name, entry):
    title, about = of_scenario(root, name)
    answer, runs = answer_of(root, entry["feature"]) if "feature" in entry else (entry["answer"], [])
    if entry.get("fetched"):
        command = console(f"run {name}")
        shown = f"This scenario has no picture, because its data does not come with psim.\n\n{command}"
    else:
        shown = drawing(name, entry)
    parts = [f"### {name}\n", f"**{title}**\n", answer + "\n", shown]
    if "short" in entry:
        parts.append(entry["short"] + "\n")
    if runs:
        parts.append(fold("Measured by", "".join(f"    ./psim {run}\n" for run in runs)))
    parts.append(fold("About it", f"```text\n{about}\n```\n\n[{name}.toml](../scenarios/{name}.toml)"))
    return "\n".join(parts)


def page(root):
    entries = tomllib.loads((root / "docs/site/gallery.toml").read_text())
    parts, seen = [HEAD], set()
    for about, names in groups((root / "docs/index.md").read_text()):
        parts.append(f"## {about[0].upper()}{about[1:]}\n")
        parts += ["<!-- folder -->\n" + section(root, name, entries[name]) for name in names]
        seen.update(names)
    stray = {path.stem for path in root.glob("scenarios/*.toml")} ^ seen | set(entries) ^ seen
    if stray:
        raise SystemExit(f"docs/site/gallery.toml, docs/index.md and scenarios/ differ: {sorted(stray)}")
    return "\n".join(parts)
