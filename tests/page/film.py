#!/usr/bin/env python3
"""docs/step.svg is the film of a step of psim show: film.py PSIM SOURCE [--update].

Exit code 77: there is no Chromium here, or a processor of another kind, on which the last digits may differ.
"""
import os
import platform
import shutil
import subprocess
import sys
import tempfile


def film_of(psim):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([psim, "run", "stragglers", "--set", "consistency.model=bsp", "--set", "training.epochs=1", "--trace", "events",
                        "--out", "run"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        subprocess.run([psim, "show", "run", "--at", "1us", "--film", "film.svg"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        with open(os.path.join(folder, "film.svg"), encoding="utf-8") as file:
            return file.read()


def main(psim, source, update=""):
    has_browser = any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    if not has_browser or platform.machine() != "x86_64":
        print("skipped: there is no Chromium here, or no x86-64 processor")
        return 77
    path, film = os.path.join(source, "docs/step.svg"), film_of(psim)
    if update:
        with open(path, "w", encoding="utf-8") as file:
            file.write(film)
    with open(path, encoding="utf-8") as file:
        is_it = file.read() == film
    print("docs/step.svg is " + ("the film" if is_it else "another film; python3 tests/page/film.py PSIM SOURCE --update writes it"))
    return 0 if is_it else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
