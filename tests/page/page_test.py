#!/usr/bin/env python3
"""Opens a page of psim report in Chromium, as a reader would.

page_test.py PAGE DOCUMENT PICTURES: fails on a console message, on a request, on a control that does nothing to be
seen as wrong by the browser, and on a number that is not the one of DOCUMENT (study.json or summary.json).
Keeps pictures of the page as PICTURES-*.png. Exit code 77: there is no Chromium here.
"""
import json
import os
import re
import shutil
import sqlite3
import sys
import xml.etree.ElementTree

from browser import Browser

problems = []


def check(holds, what):
    if not holds:
        problems.append(what)


def at(document, path):
    for step in path.split("/")[1:]:
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def parsed(value):
    try:
        return json.loads(value)
    except ValueError:
        return value


def first_number(text):
    found = re.search(r"-?\d+(\.\d+)?", text)
    return (float(found.group()), len((found.group(1) or ".")) - 1) if found else None


def check_numbers(browser, document):
    """Each number says where it stands in the document: its value is that one, and what is shown its rounding."""
    numbers = browser.run("""[...document.querySelectorAll('data')].map(d => ({value: d.value, path: d.dataset.path,
        scale: d.dataset.scale, text: d.textContent, title: d.title}))""")
    check(len(numbers) > 10, f"only {len(numbers)} numbers")
    for number in numbers:
        try:
            exact = at(document, number["path"])
        except (KeyError, IndexError, ValueError):
            problems.append(f"{number['path']} is not in the document")
            continue
        value = parsed(number["value"])
        check(exact == value or str(exact) == number["value"], f"{number['path']}: {number['value']}, not {exact}")
        check(number["value"] in number["title"], f"{number['path']}: the digits are not in its title")
        shown, scale = first_number(number["text"]), number.get("scale")
        if shown is None or isinstance(exact, str) or exact is None or scale is None:
            continue
        expected = float(scale[1:]) / exact if scale.startswith("/") else exact * float(scale)
        check(abs(shown[0] - expected) <= 0.5000001 * 10.0 ** -shown[1], f"{number['path']}: shows {number['text']} for {exact}")
    return len(numbers)


def press_everything(browser):
    """Every button, radio button, tick, summary and link within the page."""
    count = browser.run("""(() => { const all = [...document.querySelectorAll('button, input, summary, a[href^="#"]')];
        window.everything = all; return all.length; })()""")
    for number in range(count):
        browser.run(f"everything[{number}].click(); new Promise(r => requestAnimationFrame(() => setTimeout(r, 5)))")
    return count


def press_keys(browser):
    """The charts answer to keys: + shows less of the axis, 0 all of it."""
    for place in ("#timeline canvas", ".live"):
        if not browser.run(f"!!document.querySelector('main {place}')"):
            continue
        browser.run(f"document.querySelector('main {place}').focus()")
        check(browser.run("document.activeElement.tabIndex === 0"), f"{place} does not take the focus")
        for key in ("+", "+", "ArrowRight", "-", "ArrowLeft", "ArrowDown", "n", "p", "ArrowUp"):
            browser.key(key)
        if place == "#timeline canvas":
            view = browser.run("timeLine.view")
            check(view[1] - view[0] < browser.run("timeLine.timeline.end"), "+ does not zoom the time line")
            check(browser.run("!!timeLine.told.textContent"), "a chosen piece is not told")
        browser.key("0")
        if place == "#timeline canvas":
            check(browser.run("timeLine.view[0] === 0 && timeLine.view[1] === timeLine.timeline.end"), "0 does not show all")


def check_arrows(browser):
    """Arrows are those of the window, also of messages that did not arrive; the page says what it leaves out."""
    if not browser.run("'timeLine' in window && !!timeLine.messages"):
        return
    browser.run("timeLine.choose(null); timeLine.arrows = true")
    for begin, end in ((0, 1), (0.4, 0.45)):
        browser.run(f"timeLine.show([{begin} * timeLine.timeline.end, {end} * timeLine.timeline.end]); new Promise(r => setTimeout(r, 100))")
        drawn, lost, here = browser.run("""(() => { const m = timeLine.messages, [from, until] = timeLine.view, { drawn } = messagesToDraw(timeLine);
            const here = [...m.sent.keys()].filter((i) => m.sent[i] <= until && m.until[i] >= from);
            return [drawn.length, drawn.filter((i) => m.isLost[i]).length, here.length]; })()""")
        text = browser.run("timeLine.drawnText.textContent")
        check(drawn == here if here <= 1500 else drawn == 1500, f"{drawn} of {here} messages are drawn")
        check(drawn == here or f"{drawn:,} of {here:,} messages" in text, f"nothing says that {here - drawn} messages are left out: {text}")
        check((lost > 0) == ("cross" in text), f"{lost} lost messages, and the page says: {text}")


def state_at(database, at, first):
    """What the boxes of the step-through say after all events until a date, straight from the tables of run.db."""
    one = lambda sql: dict(database.execute(sql, {"at": at, "first": first}).fetchall())
    return {
        "flying": one("""SELECT sent.number, 1 FROM sent LEFT JOIN received ON received.message = sent.number LEFT JOIN lost
            ON lost.message = sent.number WHERE sent.number >= :first AND sent.at_s <= :at AND min(ifnull(received.at_s, 1e9), ifnull(lost.at_s, 1e9)) > :at"""),
        "version": one("""SELECT node || '/' || shard, max(version) FROM (SELECT node, shard, version FROM model_update WHERE at_s <= :at
            UNION ALL SELECT node, shard, version FROM promotion WHERE at_s <= :at) WHERE shard IS NOT NULL GROUP BY 1"""),
        "clock": one("SELECT node, clock FROM (SELECT node, clock, max(number) FROM computation WHERE phase = 'begun' AND at_s <= :at GROUP BY node)"),
        "view": database.execute("SELECT max(view) FROM view_change WHERE at_s <= ?", (at,)).fetchone()[0]}


def check_show(browser, run):
    """The step-through shows what run.db holds, also in the middle of a run and backwards; its keys and its pictures work."""
    if not browser.run("'show' in window"):
        return
    database = sqlite3.connect(os.path.join(run, "run.db"))
    begin, end, first = browser.run("[show.begin, show.end, show.messages[0].number]")
    for share in (0, 0.9, 0.1, 0.35, 0.351, 0.7, 0.2):
        at = round(begin + share * (end - begin), 6) + 1e-7
        browser.run(f"show.seek({at})")
        shown = browser.run("""({flying: show.flying().map((m) => m.number), clock: show.state.nodes.map((n) => n.clock), view: show.state.view,
            version: [...show.state.shards.values()].filter((s) => s.version && s.role !== 'replica').map((s) => [s.node + '/' + s.shard, s.version])})""")
        true = state_at(database, at, first)
        check(set(shown["flying"]) == set(true["flying"]),
              f"at {at} s {len(shown['flying'])} messages are shown on their way, not {len(true['flying'])}")
        for node, clock in true["clock"].items():
            check(shown["clock"][node] == clock, f"at {at} s node {node} is shown in clock {shown['clock'][node]}, not {clock}")
        check(share > 0 or dict(shown["version"]) == true["version"], f"the step-through begins with versions {shown['version']}, not {true['version']}")
        for shard, version in shown["version"]:
            check(true["version"].get(shard) == version, f"at {at} s {shard} is shown with version {version}, not {true['version'].get(shard)}")
        check(shown["view"] == true["view"], f"at {at} s view {shown['view']} is shown, not {true['view']}")
    # The line below it explains what a box or a message looks like at some date, and nothing else.
    seen = browser.run("""[...new Set([...show.messages.flatMap((m) => [m.isLost ? 'lost' : '', m.word in looks ? m.word : 'message']), ...show.events.map((e) => e.what === 'suspicion' ? 'suspected' : ''),
        ...show.line.rows.flatMap((row) => [...row.use].filter((use, i) => row.begin[i] < show.end && row.end[i] > show.begin).map((use) => timeLine.timeline.uses[use]))])].filter(Boolean).map((what) => looks[what][2]).sort()""")
    told = browser.run("[...document.querySelectorAll('#show .looks > span')].map((one) => one.lastChild.textContent.trim()).sort()")
    check(told == seen, f"explained are {told}, not {seen}")
    check({"push", "weights", "computing"} <= set(told) or "chunk" in told, f"explained are only {told}")
    texts = browser.run("show.events.map((one) => eventText(one, show.show))")
    check(not any("undefined" in text or "NaN" in text or "a node" in text for text in texts), "an event has no words")
    for key in "uwfp":
        browser.run("show.seek(show.begin)")
        browser.run("show.canvas.focus()")
        browser.key(key)
        check(browser.run("show.last >= 0 && !!show.now.textContent"), f"{key} shows nothing")
    browser.run("new Promise((r) => setTimeout(r, 600))")  # the address follows a little later
    number = browser.run("show.events[show.last].number")
    check(browser.run("location.hash") == f"#event={number}", "the address does not hold the event")
    browser.run("show.step(1)")
    check(browser.run("show.events[show.last].number") > number, "the next event is not later")
    browser.run("show.step(-1)")
    check(browser.run("show.events[show.last].number") == number, "the event before is not the one before")
    for picture in ("frameOf", "filmOf"):
        xml.etree.ElementTree.fromstring(browser.run(f"{picture}(show)"))
    browser.run("show.toggle(); new Promise((r) => setTimeout(r, 300))")
    check(browser.run("show.playing && show.at") > 0, "it does not play")
    browser.run("show.stop()")


def check_lights(browser):
    """A sentence lights up the nodes that it names, and nobody else, while someone points at it."""
    check(browser.run("nodesIn('Workers 0-2 and 4 each waited for server 1, not worker 12, 13').join()") ==
          "worker 0,worker 1,worker 2,worker 4,server 1,worker 12,worker 13", "names in a sentence are misread")
    for i in range(browser.run("document.querySelectorAll('.lights').length")):
        lit = f"(() => {{ const one = document.querySelectorAll('.lights')[{i}]; one.dispatchEvent(new Event('focus')); return [one.textContent, [...timeLine.lit]]; }})()"
        text, names = browser.run(lit)
        check(names and all(name.split()[-1] in text or "-" in text for name in names), f"\"{text}\" lights up {names}")
        check(browser.run("!('show' in window) || show.show.names.every((one) => show.isLit(one) === timeLine.lit.has(one) || show.story)"), "boxes and rows differ")
        browser.run(f"document.querySelectorAll('.lights')[{i}].dispatchEvent(new Event('blur'))")
        check(browser.run("timeLine.lit === null"), "a sentence lights up for ever")


def check_shape(browser, where):
    check(browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1"),
          f"{where}: the page is wider than the window")
    for selector, what in (("h1", "heading"), ("table", "table"), ("#answer p", "answer")):
        check(browser.run(f"!!document.querySelector('{selector}')"), f"{where}: no {what}")


def without_programs(browser, page):
    """Sentences, tables and one chart are there without any program."""
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    browser.ask("Emulation.setScriptExecutionDisabled", value=False)
    check(browser.run("document.querySelectorAll('svg polyline, svg path').length > 0"), "no figure without JavaScript")
    check(browser.run("!document.querySelector('.uplot, .live')"), "JavaScript was not off")


def main(page, document, pictures):
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("skipped: there is no Chromium here; on Debian: apt-get install chromium")
        return 77
    with open(document, encoding="utf-8") as file:
        values = json.load(file)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)
    most = 250_000 if document.endswith("summary.json") else 350_000  # a study has tables of all its runs
    check(len(text) - len(data) < most, f"{len(text) - len(data)} bytes beside the data")
    browser = Browser(program)
    try:
        for name, width, height, dark in (("light", 1200, 900, False), ("dark", 1200, 900, True),
                                          ("narrow", 400, 800, False), ("wide", 3840, 2160, False)):
            browser.look(dark)
            browser.size(width, height)
            browser.open(page)
            browser.run("new Promise(r => setTimeout(r, 200))")
            check_shape(browser, name)
            browser.picture(f"{pictures}-{name}.png")
        browser.look(False)
        browser.size(1200, 900)
        browser.open(page)
        numbers = check_numbers(browser, values)
        press_keys(browser)
        check_arrows(browser)
        check_show(browser, os.path.dirname(document))
        check_lights(browser)
        pressed = press_everything(browser)
        check(pressed > 0, f"only {pressed} controls")
        browser.picture(f"{pictures}-pressed.png")
        without_programs(browser, page)
        browser.picture(f"{pictures}-still.png")
        browser.paper(f"{pictures}.pdf")
        problems.extend(browser.complaints)
    finally:
        browser.close()
    for problem in problems[:40]:
        print(problem)
    if not problems:
        print(f"{numbers} numbers are those of {os.path.basename(document)}; {pressed} controls pressed; pictures: {pictures}-*.png")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
