"""The pages of the site: the pages of the repository, with links that work in the site."""
import pathlib
import re

CODE = re.compile(r"(`+[^`]*`+)")
FENCE = re.compile(r"^( *)(```+|~~~+)")
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^)\s]+)\)")
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".sql": "sql", ".toml": "toml", ".json": "json"}
PICTURES = (".svg", ".png")
WIDE = ("docs/features.md",)  # tables of five columns
LAB = """
!!! note "A template"
    Words in braces, such as `{workers}`, stand for numbers that `psim lab start` draws from a student's ID.
"""


def read(root):
    """Every page, by its path in the repository."""
    names = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    names += sorted(root.glob("docs/*.md")) + sorted(root.glob("docs/concepts/*.md"))
    names += sorted(root.glob("docs/course/*.md")) + sorted(root.glob("docs/course/[0-9]*/*.md"))  # slides are no pages
    texts = {str(name.relative_to(root)): name.read_text() for name in names}
    for name in WIDE:
        texts[name] = "---\nhide: [navigation, toc]\n---\n" + texts[name]
    for name in texts:
        if name.startswith("docs/course/") and name.endswith("README.md"):
            texts[name] = texts[name].replace("\n", "\n" + LAB, 1)
    return texts


def outside_code(text, change):
    """The text after `change` of every line, outside fences and outside `code`."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence is None and not mark:
            line = "".join(part if part.startswith("`") else change(part) for part in CODE.split(line))
        elif fence is None:
            fence = mark.group(2)
        elif mark and mark.group(2) == fence:
            fence = None
        lines.append(line)
    return "\n".join(lines)


class Links:
    """Links to files that are not pages lead to pages that show these files. Links to folders become plain text."""

    def __init__(self, root, texts):
        self.root, self.texts, self.shown, self.copied = root, texts, set(), set()

    def of(self, page, text):
        whole = re.sub(r"\[([^][`]*)\n([^][`]*)\]\(", r"[\1 \2](", text)  # a link's words on two lines
        return outside_code(whole, lambda part: LINK.sub(lambda link: self.one(page, link), part))

    def one(self, page, link):
        picture, words, target = link.groups()
        file, _, anchor = target.partition("#")
        if not file or "://" in file or file.startswith("mailto:"):
            return link.group()
        path = (self.root / page).parent.joinpath(file).resolve()
        name = str(path.relative_to(self.root)) if path.is_relative_to(self.root) else None
        if name in self.texts or name is None:
            return link.group()
        if path.is_dir():
            return words
        if not path.is_file():
            return link.group()  # mkdocs reports the mistake
        if path.suffix in PICTURES:
            self.copied.add(name)
            return link.group()
        self.shown.add(name)
        return f"{picture}[{words}]({file}.md{'#' + anchor if anchor else ''})"


def of_file(root, name):
    """A page that shows a file of the repository."""
    text = (root / name).read_text()
    language = LANGUAGES.get(pathlib.Path(name).suffix, "text")
    return f"# `{name}`\n\n``````{language}\n{text}``````\n"


def write(root, folder, texts):
    links = Links(root, texts)
    done = {name: links.of(name, text) for name, text in texts.items()}
    done.update({name + ".md": of_file(root, name) for name in sorted(links.shown)})
    for name, text in done.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name in links.copied:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((root / name).read_bytes())
