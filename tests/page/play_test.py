#!/usr/bin/env python3
"""Plays with the playground in Chromium, as a student would.

play_test.py PSIM PICTURES          the one that `psim serve` serves
play_test.py PSIM PICTURES PAGE     one that `psim report --sliders` has written
Fails on a message in the console, on a control that changes nothing, and on what is shown not being what psim says.
Keeps pictures as PICTURES-*.png. Exit code 77: there is no Chromium here.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

from browser import Browser

problems = []


def check(holds, what):
    if not holds:
        problems.append(what)


def wait_for(browser, script, what, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        if browser.run(script):
            return True
        time.sleep(0.05)
    problems.append(f"in {seconds} s: not {what}")
    return False


def settled(browser, what):
    """All sides have their answer, good or bad."""
    time.sleep(0.2)  # a slider waits a moment before it asks
    return wait_for(browser, "!document.querySelector('.busy')", what)


def choose(browser, side, name, value):
    browser.run(f"""(() => {{ const one = playground.sides[{side}].inputs.get({json.dumps(name)});
        one.input.value = one.isScale ? one.control.values.indexOf({json.dumps(value)}) : {json.dumps(value)};
        one.input.dispatchEvent(new Event('input')); }})()""")


def fact(browser, name, side):
    return browser.run(f"""(() => {{ const row = [...document.querySelectorAll('#facts tbody tr')]
        .find(r => r.querySelector('th').textContent === {json.dumps(name)});
        return row ? row.querySelectorAll('td')[{side}].textContent : null; }})()""")


def try_every_control(browser, names):
    """Each control, moved to its last value and back, changes something and comes back to what was shown."""
    for name in names:
        last = browser.run(f"playground.sides[0].inputs.get({json.dumps(name)}).control.values.at(-1)")
        usual = browser.run(f"playground.sides[0].settings[{json.dumps(name)}]")
        before = browser.run("JSON.stringify(playground.sides[0].made.result.curves)")
        if last == usual:
            continue
        choose(browser, 0, name, last)
        if not settled(browser, f"an answer for {name} = {last}"):
            return
        now = browser.run("playground.sides[0].made ? JSON.stringify(playground.sides[0].made.result.curves) : ''")
        check(now != before, f"{name} = {last} changes nothing")
        check(name in browser.run("location.hash"), f"the address does not say {name} = {last}")
        choose(browser, 0, name, usual)
        settled(browser, f"an answer for {name} = {usual}")
        check(browser.run("JSON.stringify(playground.sides[0].made.result.curves)") == before,
              f"{name} = {usual} again is another run")


def lowest_end(browser):
    return browser.run("Math.max(...[...document.querySelectorAll('#screen > section')].map((s) => s.getBoundingClientRect().bottom))")


def look(browser, url, pictures):
    for name, width, height, dark in (("light", 1366, 768, False), ("dark", 1366, 768, True), ("narrow", 400, 800, False)):
        browser.look(dark)
        browser.size(width, height)
        browser.visit(url)
        settled(browser, "the first answers")
        check(browser.run("playground.ready().length") == 2, f"{name}: no two results at first")
        check(browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1"),
              f"{name}: the page is wider than the window")
        check(browser.run("document.querySelectorAll('#lines canvas').length") == 2, f"{name}: no two time lines")
        check(width < 1280 or lowest_end(browser) <= height,
              f"{name}: the first screen is higher than the window")
        browser.picture(f"{pictures}-{name}.png")
    browser.look(False)
    browser.size(1280, 900)


def run_of(psim, text):
    with open("copied.toml", "w", encoding="utf-8") as file:
        file.write(text)
    return json.loads(subprocess.run([psim, "run", "copied.toml", "--json"], capture_output=True, check=False).stdout)


def break_by_hand(browser, psim, url):
    """A fault put on what is shown gives the same run with this fault: the same events until then, and others after."""
    for name, touch in (("crash", "[s.places[5][0] * s.width, s.places[5][1] * s.height]"),
                        ("slow", "[s.places[6][0] * s.width, s.places[6][1] * s.height]"),
                        ("cut", "[s.places[1][0] * s.width, s.places[1][1] * s.height]"),
                        ("lose", "s.placeOf(s.flying().find((m) => m.word === 'push'))")):
        browser.visit(url + "#a=workers:4,slowdown:2&b=workers:2")
        settled(browser, "the first answers")
        browser.run("(() => { const s = stage[0]; s.jump('u'); s.jump('p'); s.moveTo(s.at + (s.events[s.last].until - s.at) / 2); })()")
        browser.run(f"[...document.querySelectorAll('#breaks button')].find((b) => b.textContent === '{name}').click()")
        check(browser.run(f"(() => {{ const s = stage[0]; return s.onTouch(...{touch}); }})()"), f"{name} meets nothing")
        wait_for(browser, f"document.getElementById('broken').textContent.includes('with {name}')", f"broken by {name}")
        settled(browser, "an answer")
        fault = browser.run("(() => { const one = stage[1].events.find((e) => e.what === 'fault'); return one ? one.at : null; })()")
        if fault is None:
            problems.append(f"{name} is not in the other run")
            continue
        before = [browser.run(f"stage[{side}].events.filter((e) => e.at < {fault} - 1e-9).map((e) => [e.number, e.at, e.node, e.what, e.word].join()).join(';')") for side in (0, 1)]
        check(before[0] == before[1], f"{name}: the runs differ before the fault")
        check(browser.run("stage[0].at === stage[1].at"), f"{name}: the clusters are not at the same date")
        texts = browser.run("playground.sides.map((side) => side.text.value)")
        check(texts[1].startswith(texts[0]) and texts[1].count("[[fault]]") == texts[0].count("[[fault]]") + 1, f"{name}: not one fault more")
        shown = browser.run("playground.sides[1].made.result.summary.digest")
        check(run_of(psim, texts[1])["digest"] == shown, f"{name}: the copied scenario is another run")
        check(shown != browser.run("playground.sides[0].made.result.summary.digest"), f"{name} changes nothing")
        if name == "lose":
            check(browser.run("stage[1].events.find((e) => e.what === 'lost').sent.word") == "push", "another message is lost")


def verdict(browser, side):
    return browser.run(f"""(() => {{ const one = document.querySelector('#challenge [data-side="{side}"]'); return one ? one.textContent.slice(2) : null; }})()""")


def meet_challenges(browser, url, pictures):
    """The start of a challenge misses the goal, its solution reaches it, and these near ones do not."""
    near = {"straggler": ("consistency", "backup-workers"), "barrier": ("consistency", "asp"), "servers": ("servers", "8"),
            "crash": ("servers", "4"), "fewer": ("workers", "8")}
    with open(os.path.join(os.path.dirname(__file__), "../../sim/apps/playground/sketch.toml"), "rb") as file:
        challenges = tomllib.load(file)["challenge"]
    check(sorted(near) == sorted(one["name"] for one in challenges), "no near miss of each challenge")
    browser.size(1366, 768)
    browser.visit(url)
    settled(browser, "the first answers")
    for one in challenges:
        name, free = one["name"], set(one["moves"])
        browser.run(f"(() => {{ const menu = document.querySelector('#challenges select'); menu.value = {json.dumps(name)}; menu.dispatchEvent(new Event('change')); }})()")
        settled(browser, f"the start of {name}")
        check(one["text"] in browser.run("document.getElementById('challenge').textContent"), f"{name}: nothing says what to do")
        check("; the goal is at " in (verdict(browser, 0) or ""), f"the start of {name}: {verdict(browser, 0)}")
        check(set(browser.run("[...playground.sides[1].inputs].filter(([, one]) => !one.input.disabled || one.control.name === 'staleness').map(([name]) => name)")) | {"staleness"} == free | {"staleness"},
              f"{name} has other free settings than {free}")
        choose(browser, 1, *near[name])
        settled(browser, f"a near miss of {name}")
        check("; the goal is at " in (verdict(browser, 1) or ""), f"{name} with {near[name]}: {verdict(browser, 1)}")
        check(one["solution"].items() >= {key: value for key, value in one["start"].items() if key not in free}.items(), f"{name} is solved with another start")
        for setting, usual in browser.run("[...playground.sides[1].inputs.values()].map((one) => [one.control.name, one.control.usual])"):
            if setting in free:
                choose(browser, 1, setting, one["solution"].get(setting, usual))
        settled(browser, f"the solution of {name}")
        check(verdict(browser, 1) == "reached the goal.", f"the solution of {name}: {verdict(browser, 1)}")
        check(one["lesson"] in browser.run("document.getElementById('challenge').textContent"), f"{name} teaches nothing")
        check(lowest_end(browser) <= 768, f"{name}: the first screen is higher than the window")
        address = browser.run("location.hash")
        browser.visit(url + address)
        settled(browser, f"the address of {name}")
        check(verdict(browser, 1) == "reached the goal.", f"{address}: {verdict(browser, 1)}")
    browser.picture(f"{pictures}-challenge.png")
    for wrong, word in (("#challenge=fastest", "no challenge fastest"), ("#a=slowdown:1&challenge=straggler", "does not move slowdown")):
        browser.visit(url + wrong)
        settled(browser, "an answer")
        check(word in browser.run("document.querySelector('.side .how').textContent"), f"{wrong}: nothing says {word}")


def play_live(browser, psim, url, pictures):
    look(browser, url, pictures)
    begin = time.time()
    choose(browser, 1, "workers", "4")
    settled(browser, "an answer")
    seconds = time.time() - begin
    said = run_of(psim, browser.run("playground.sides[1].made.scenario"))
    shown = browser.run("playground.sides[1].made.result.summary")
    check(said["digest"] == shown["digest"], "the copied scenario is another run")
    length = float(re.match(r"[\d.]+", fact(browser, "length of the run", 1)).group())
    check(abs(length - said["sim_time_s"]) < 0.006 * said["sim_time_s"], f"the table says {length} s, psim {said['sim_time_s']}")
    try_every_control(browser, browser.run("[...playground.sides[0].inputs.keys()].filter(n => n !== 'staleness')"))
    choose(browser, 0, "consistency", "ssp")
    settled(browser, "an answer")
    try_every_control(browser, ["staleness"])
    choose(browser, 0, "servers", "1")
    settled(browser, "an answer")
    layout = "JSON.stringify([...document.querySelectorAll('.side, #facts, .how, #compared h2')].map(e => { const r = e.getBoundingClientRect(); return [e.id || e.className.replace(' wrong', ''), r.left, r.top, r.width, e.id === 'facts' ? 0 : r.height].map(v => typeof v === 'number' ? Math.round(v) : v); }).filter(r => r[0] !== 'facts' || r.splice(3)))"
    before = browser.run(layout)
    choose(browser, 0, "copies", "1")
    settled(browser, "an answer")
    said = browser.run("document.querySelector('.how').textContent")
    check("copy of each shard" in said, "no word on a copy without a server")
    check("replicas = 1" in said, f"the error names no slider: {said}")
    check("scenario.toml" not in said, f"the error speaks of a file that nobody has seen: {said}")
    check(browser.run(layout) == before, f"an error moves the page: {before}, {browser.run(layout)}")
    check(browser.run("document.querySelectorAll('#facts thead th').length") == 3, "an error takes a column from the table")
    browser.picture(f"{pictures}-wrong.png")
    choose(browser, 0, "copies", "0")
    settled(browser, "an answer")
    browser.run("document.querySelector('#guess input[value=faster]').click()")
    choose(browser, 1, "slowdown", "10")
    time.sleep(0.2)
    busy, dimmed = browser.run("[!!document.querySelector('.s1.busy'), [...document.querySelectorAll('#lines .stale, #reasons .stale')].map(e => e.dataset.side)]")
    check(not busy or set(dimmed) == {"1"}, f"while B runs, these are dimmed: {dimmed}")
    settled(browser, "an answer")
    expectation = browser.run("document.getElementById('guessed').textContent")
    row = browser.run("[...document.querySelectorAll('#facts tbody tr')][0].textContent")
    check(expectation.startswith("You expected B to be faster: "), f"the expectation is not compared: {expectation}")
    check(("right" in expectation) == ("faster" in row), f"{expectation} - {row}")
    check(not browser.run("document.querySelector('.stale')"), "results stay dim")
    reasons = browser.run("document.getElementById('outcome').textContent")
    check("ime to 90 % accuracy: A " in reasons, f"the reasons do not tell the first row: {reasons[:300]}")
    for wrong, word in (("#a=wrokers:2", "no control wrokers"), ("#a=workers:7", "workers cannot be 7"), ("#a=workers", "workers cannot be empty"),
                        ("#c=workers:2", "c=workers:2 is unknown"), ("#a=workers:2,workers:4", "workers stands twice"),
                        ("#hide=sead", "hide= names sead"), ("#a=workers:2&a=workers:4", "a= stands twice")):
        browser.visit(url + wrong)
        settled(browser, "an answer")
        check(browser.run("playground.sides[0].made") is None, f"{wrong} runs something")
        check(word in browser.run("document.querySelector('.side .how').textContent"), f"{wrong}: nothing says {word}")
    browser.visit(url + "#a=workers:2,crash:worker&b=workers:16&hide=seed,rate")
    settled(browser, "an answer")
    check(browser.run("playground.sides.map(s => s.made.result.summary.workers.length)") == [2, 16], "the address is not heard")
    check(browser.run("playground.sides[0].inputs.has('seed')") is False, "hide= hides nothing")
    browser.run("[...document.querySelectorAll('#scenarios button')].find(b => b.textContent === 'run this text').click()")
    settled(browser, "an answer to a text")
    break_by_hand(browser, psim, url)
    meet_challenges(browser, url, pictures)
    return seconds


def main(psim, pictures, page=None):
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("skipped: there is no Chromium here; on Debian: apt-get install chromium")
        return 77
    server = None if page else subprocess.Popen([psim, "serve"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    browser = Browser(program)
    try:
        if page:
            look(browser, "file://" + page, pictures)
            try_every_control(browser, browser.run("[...playground.sides[0].inputs.keys()]"))
            done = "every slider moved"
        else:
            url = re.search(r"http\S+", server.stdout.readline()).group()
            done = f"a change was answered in {play_live(browser, psim, url, pictures):.2f} s"
        problems.extend(one for one in browser.complaints if not re.search(r"^request: http://127\.0\.0\.1:\d+/run$", one))
    finally:
        browser.close()
        if server:
            server.send_signal(signal.SIGINT)
            check(server.wait() == 130, "Ctrl-C does not end psim serve")
    for problem in problems[:40]:
        print(problem)
    if not problems:
        print(f"{done}; pictures: {pictures}-*.png")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
