#!/usr/bin/env python3
"""Opens slides in Chromium as a teacher would, and prints every offence: slides_test.py PAGE...

No request and no message; keys turn the slides; nothing stands outside of its slide, on a screen or on paper;
letters of charts are at least a thirtieth of the slide's height (docs/course/teaching.md).
"""
import base64
import os
import shutil
import sys

from browser import Browser

OUTSIDE = """[...document.querySelectorAll("section")].map((slide, number) => {
  if (%s) show(number);
  const room = slide.getBoundingClientRect();
  return [...slide.querySelectorAll("h1, p, li, pre, table, img, figcaption")]
    .filter(one => !one.closest(".notes"))
    .filter(one => { const box = one.getBoundingClientRect();
      return box.bottom > room.bottom - 8 || box.right > room.right - 8 || box.top < room.top ||
        one.scrollWidth > one.clientWidth + 1 || box.height === 0; })
    .map(one => "slide " + (number + 1) + ": no room for " + (one.textContent || one.alt).slice(0, 40));
}).flat()"""

LETTERS = """[...document.querySelectorAll("img")].map(chart => {
  show([...document.querySelectorAll("section")].indexOf(chart.closest("section")));
  const scale = Math.min(chart.clientWidth / chart.naturalWidth, chart.clientHeight / chart.naturalHeight);
  return 2.5 * 96 / 25.4 * scale / innerHeight;  // psim export's letters have 2.5 mm
})"""

SHOWN = """[...document.querySelectorAll("section")].findIndex(slide => slide.offsetHeight > 0)"""


def offences(browser, page):
    browser.size(1280, 720)
    browser.look()
    browser.open(page)
    count = browser.run('document.querySelectorAll("section").length')
    for key, place in (("ArrowRight", 1), ("PageDown", 2), ("ArrowLeft", 1), ("End", count - 1),
                       ("ArrowDown", count - 1), ("PageUp", count - 2), ("Home", 0), ("ArrowUp", 0)):
        browser.key(key)
        if browser.run(SHOWN) != place:
            yield f"{key} does not lead to slide {place + 1}"
    yield from browser.run(OUTSIDE % "true")
    for share in browser.run(LETTERS):
        if share < 1 / 30:
            yield f"the letters of a chart are {share:.3f} of the slide's height"
    browser.key("End")
    browser.key("n")
    if not browser.run('document.querySelector(".here .notes").offsetHeight > 0'):
        yield "n does not show the notes"
    browser.size(1209, 680)
    browser.look(media="print")
    yield from browser.run(OUTSIDE % "false")
    paper = browser.ask("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"]
    sheets = base64.b64decode(paper).count(b"/Type /Page\n")
    if sheets != count:
        yield f"{count} slides on {sheets} sheets of paper"
    yield from browser.complaints
    browser.complaints.clear()


browser = Browser(shutil.which("chromium"))
for page in sys.argv[1:]:
    for offence in offences(browser, page):
        print(f"{os.path.basename(page)}: {offence}")
browser.close()
