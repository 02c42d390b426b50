"""Builds the site of psim's documentation: site.py PSIM ROOT OUT [--quick].

Collects the pages in OUT-source, makes the drawings with psim, runs mkdocs and searches for broken links.
--quick leaves out the drawings of the gallery and the playground, which take minutes.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import time

import check
import drawings
import gallery
import moving
import pages

begin = time.monotonic()


def say(text):
    print(f"psim docs: {text} ({time.monotonic() - begin:.0f} s)", file=sys.stderr, flush=True)


def put_together(psim, root, source, quick):
    """Writes the pages in the layout of the repository, and next to them the settings of mkdocs."""
    shutil.rmtree(source, ignore_errors=True)
    folder = source / "pages"
    texts = pages.read(root)
    texts["docs/gallery.md"] = gallery.page(root)
    maker = drawings.Maker(psim, root, folder, source.parent / "site-drawings", say)
    drawn = {name: text for name, text in texts.items() if not (quick and name == "docs/gallery.md")}
    texts.update({name: maker.draw(name, text) for name, text in drawn.items()})
    maker.forget()
    pages.write(root, folder, texts)
    say("the pages that move")
    front = folder / "README.md"
    text = front.read_text()
    links = moving.make(psim, root, folder, source.parent, quick)
    front.write_text(text.replace("\n## Start\n", f"\n{links}\n## Start\n", 1))
    shutil.copy(root / "docs/site/mkdocs.yml", source)
    shutil.copytree(root / "docs/site/theme", source / "theme")
    shutil.copy(root / "docs/site/theme/theme.css", folder)
    return len(texts)


def run_mkdocs(source, out):
    """Runs mkdocs; prints nothing unless mkdocs warns."""
    done = subprocess.run(["mkdocs", "build", "--strict", "--clean", "-f", source / "mkdocs.yml", "-d", out],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        lines = done.stdout.split("\n")
        sys.exit("\n".join([line for line in lines if "WARNING" in line or "ERROR" in line] or lines))


def write_index_as_script(out):
    index = (out / "search/search_index.json").read_text()
    script = f"var __search = {{ index: Promise.resolve({json.dumps(json.loads(index))}) }};\n"
    (out / "search/search_index.js").write_text(script)


def main(psim, root, out, *options):
    psim, root, out = (pathlib.Path(path).resolve() for path in (psim, root, out))
    source = out.with_name(out.name + "-source")
    count = put_together(psim, root, source, "--quick" in options)
    say(f"mkdocs builds {count} pages")
    run_mkdocs(source, out)
    write_index_as_script(out)
    offences = check.offences(out)
    if offences:
        sys.exit("\n".join(offences) + f"\npsim docs: {len(offences)} mistakes in {out}")
    say("done")
    print(f"{out}/index.html   open it with: xdg-open {out}/index.html")


main(*sys.argv[1:])
