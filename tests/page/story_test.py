#!/usr/bin/env python3
"""Plays stories in Chromium: story_test.py PICTURES PAGE...

At each moment the boxes, or the words of the event, must show what the story says they do, the nodes of the sentence are
lit, and the next button leads on. Exit code 77: there is no Chromium.
"""
import re
import shutil
import sys

from browser import Browser

SHOWN = """(() => { const one = data.story.moments[show.moment], event = show.events[show.last];
  const texts = (name) => name === 'event' ? [eventText(event, show.show)] : textsIn(show, show.state.nodes[show.show.names.indexOf(name)], show.show.names.indexOf(name));
  return { number: event.number, expected: one.event, says: one.says, shown: show.storyText.textContent, known: one.lit.every((name) => show.show.names.includes(name)),
    missing: one.boxes.filter((box) => { const [name, what] = [box.slice(0, box.indexOf(': ')), box.slice(box.indexOf(': ') + 2)]; return !texts(name).some((text) => text.includes(what)); }),
    lit: show.state.nodes.filter((node) => show.isLit(node.name)).length, wanted: one.lit.length, boxes: one.boxes.length }; })()"""


def main(pictures, pages):
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("skipped: there is no Chromium here; on Debian: apt-get install chromium")
        return 77
    browser, problems, told = Browser(program), [], 0
    browser.size(1366, 768)
    browser.look()
    for page in pages:
        name = re.sub(r".*/|\.html$", "", page)
        browser.open(page)
        count, checked = browser.run("data.story.moments.length"), 0
        for number in range(count):
            moment = browser.run(SHOWN)
            told += 1
            checked += moment["boxes"]
            if moment["number"] != moment["expected"] or moment["shown"] != moment["says"]:
                problems.append(f"{name}, {number}: event {moment['number']} is shown for {moment['expected']}")
            if moment["missing"]:
                problems.append(f"{name}, \"{moment['says']}\": no box shows {moment['missing']}")
            if not moment["known"] or moment["lit"] != moment["wanted"]:
                problems.append(f"{name}, \"{moment['says']}\": {moment['lit']} of {moment['wanted']} nodes are lit")
            browser.run("[...document.querySelectorAll('#show button')].find((one) => one.textContent === 'next').click()")
        arrows = browser.run('''(() => { const m = timeLine.messages, known = show.messages.filter((one) => one.until < Infinity);
            return timeLine.arrows && m.count === known.length && known.every((one, i) => m.sent[i] === one.at && m.isLost[i] === Number(Boolean(one.isLost)) && (one.isLost || m.until[i] === one.until)); })()''')
        if not arrows:
            problems.append(f"{name}: the arrows of the time line are not the messages of the step-through")
        if browser.run("show.moment") != count - 1 or checked < count - 1:
            problems.append(f"{name}: {checked} boxes of {count} moments are checked")
        browser.picture(f"{pictures}/story-{name}.png")
    problems.extend(browser.complaints)
    browser.close()
    print(*problems, f"{told} moments of {len(pages)} stories", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
