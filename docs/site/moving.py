"""Pages of the site that move: the stories, and the playground with the results of its study. They need no psim."""
import html
import subprocess
import tomllib


def make(psim, root, folder, scratch, quick):
    """Writes the pages into `folder`, and returns the paragraphs of the front page that lead there."""
    (folder / "stories").mkdir(parents=True)
    watch = []
    for path in sorted((root / "docs/stories").glob("*.toml")):
        page = f"stories/{path.stem}.html"
        subprocess.run([psim, "show", "--story", path, "--out", folder / page], check=True, stdout=subprocess.DEVNULL)
        title = tomllib.loads(path.read_text())["title"]
        watch.append(f'<a href="{page}">{html.escape(title)}</a>')
    paragraphs = [f"**Watch**, event by event: {'; '.join(watch)}."]
    if not quick:  # 324 runs
        study = scratch / "playground"
        subprocess.run([psim, "compare", root / "scenarios/playground.toml", "--trace", "events", "--force", "--out", study],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([psim, "report", study, "--sliders", "--out", folder / "play.html"], check=True, stdout=subprocess.DEVNULL)
        paragraphs.insert(0, '**<a href="play.html">Play</a>** without installing anything: move sliders, and see who waits.')
    return "\n\n".join(paragraphs) + "\n"
