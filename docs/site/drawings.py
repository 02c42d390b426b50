"""Drawings that psim makes while the site is built.

A page requests a drawing by a comment above the commands that make it:

    <!-- drawing: charts/timeline.svg "Three workers wait for the fourth." -->
    ```console
    $ ./psim run ... --out runs/bsp
    $ ./psim export runs/bsp --svg charts
    ```

All commands of such a page run one after the other in a separate folder. Each `<!-- folder -->` in a page starts a
new folder. With `and output` after its words, a drawing also shows the numbers that the first command printed.
"""
import hashlib
import pathlib
import re
import shutil
import subprocess

ASKED = re.compile(r'^<!-- drawing: (\S+) "([^"]*)"( and output)? -->\n(```console\n.*?^```\n)', re.M | re.S)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
PARTS = "<!-- folder -->\n"
NUMBERS_END = re.compile(r"^(\[a, b\]:|All arms|A single seed|This is one run|wrote |  digest|      loss)")


def commands(block):
    """The commands of a block, without their output."""
    return [line[2:] for line in block.replace("\\\n", "").split("\n") if line.startswith("$ ")]


def fold(summary, text):
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{text}\n\n</details>\n'


def numbers(output):
    """The output of a command, up to its explanations and curves."""
    lines = output.split("\n")
    end = next((number for number, line in enumerate(lines) if NUMBERS_END.match(line)), len(lines))
    return "\n".join(lines[2:end]).strip("\n")


class Maker:
    def __init__(self, psim, root, folder, kept, say):
        self.psim, self.root, self.folder, self.kept, self.say = psim, root, folder, kept, say
        self.count, self.used = 0, set()
        digest = hashlib.sha256(psim.read_bytes())
        for path in sorted(root.glob("scenarios/**/*")):
            if path.is_file():
                digest.update(path.read_bytes())
        self.version = digest.hexdigest()

    def draw(self, page, text):
        if "<!-- drawing: " not in text:
            return text
        return "".join(self.part(page, part) for part in text.split(PARTS))

    def part(self, page, text):
        if not ASKED.search(text):
            return text
        todo = [one for block in BLOCK.findall(text) for one in commands(block)]
        made = self.make(page, todo, [match.group(1) for match in ASKED.finditer(text)])
        return ASKED.sub(lambda match: self.place(page, made, *match.groups()), text)

    def place(self, page, made, chart, words, output, block):
        name = f"{made.name}-{chart.replace('/', '-')}"
        target = self.folder / "drawings" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made / chart.replace("/", "-"), target)
        up = "../" * page.count("/")
        text = f"{block}\n![{words}]({up}drawings/{name}){{ .chart loading=lazy }}\n"
        if output:
            said = numbers((made / "output").read_text())
            text += "\n" + fold("What psim prints", f"```text\n{said}\n```")
        return text

    def make(self, page, todo, charts):
        """The folder with the charts: made now, or by an earlier build of the site."""
        key = hashlib.sha256((self.version + repr(todo) + repr(charts)).encode()).hexdigest()[:12]
        made = self.kept / key
        self.count += 1
        self.used.add(made)
        if not made.is_dir():
            scratch = self.kept / (key + ".new")
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
            (scratch / "psim").symlink_to(self.psim)
            for folder in ("scenarios", "docs"):
                (scratch / folder).symlink_to(self.root / folder)
            outputs = [self.run(page, command, scratch) for command in todo]
            made.mkdir()
            (made / "output").write_text(outputs[0])
            for chart in charts:
                shutil.copy(scratch / chart, made / chart.replace("/", "-"))
            shutil.rmtree(scratch)
        if self.count % 10 == 0:
            self.say(f"{self.count} drawings")
        return made

    def forget(self):
        """Removes drawings of other versions."""
        for made in set(self.kept.glob("*")) - self.used:
            shutil.rmtree(made)

    def run(self, page, command, scratch):
        done = subprocess.run(["sh", "-c", command], cwd=scratch, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode not in (0, 1):  # 1: the answer is no
            raise SystemExit(f"{page}: {command}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout
