#!/usr/bin/env python3
"""A class in Chromium: its teacher, and a student who joins with the code.

class_test.py PSIM PICTURES
Fails on a message in the console, on a foreign request, and on a student who knows too much. Keeps pictures as
PICTURES-*.png. Exit code 77: there is no Chromium here.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

from browser import Browser

problems = []


def check(holds, what):
    if not holds:
        problems.append(what)


def wait_for(browser, script, what, seconds=30):
    end = time.time() + seconds
    while time.time() < end:
        if browser.run(f"!!({script})"):
            return
        time.sleep(0.05)
    problems.append(f"in {seconds} s: not {what}")


def text(browser, name):
    return browser.run(f"document.getElementById('{name}').innerText")


def press(browser, name):
    """A button, by keyboard alone."""
    browser.run(f"document.getElementById('{name}').focus()")
    browser.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r", windowsVirtualKeyCode=13)
    browser.ask("Input.dispatchKeyEvent", type="keyUp", key="Enter", windowsVirtualKeyCode=13)


def say(url, code, number, question, answer):
    """Another student's answer."""
    request = urllib.request.Request(f"{url}/state?0", headers={"X-Psim-Token": f"{code}.{number:032x}"})
    urllib.request.urlopen(request).read()
    request = urllib.request.Request(f"{url}/answer?{question}", str(answer).encode(), {"X-Psim-Token": f"{code}.{number:032x}"})
    urllib.request.urlopen(request).read()


def picture(browser, width, height, dark, path):
    browser.look(dark)
    browser.size(width, height)
    time.sleep(0.3)
    check(browser.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1"),
          f"{path}: the page is wider than the window")
    browser.picture(path)


def look(teacher, student, pictures, when):
    for name, browser, width, height in (("teacher", teacher, 1366, 768), ("student", student, 390, 844)):
        for dark in (False, True):
            picture(browser, width, height, dark, f"{pictures}-{when}-{name}{'-dark' if dark else ''}.png")
        if name == "teacher":
            low = browser.run("Math.max(...['acts', 'bars'].map((id) => document.getElementById(id).getBoundingClientRect().bottom))")
            check(low <= height, f"{when}: the teacher must scroll: {low}")
    picture(teacher, 390, 844, False, f"{pictures}-{when}-teacher-narrow.png")
    teacher.size(1366, 768)


def play(teacher, student, address, join, pictures):
    url, code = join.rsplit("/", 1)
    teacher.visit(address)
    wait_for(teacher, "document.getElementById('asks').textContent", "a question on the teacher's page")
    check(teacher.run("location.href") == url + "/", "the projector shows the token")
    check(text(teacher, "word") == code and text(teacher, "address") == url, "the teacher's page does not say how to join")
    check("8 ms" in teacher.run("document.getElementById('cluster').textContent"), "no text on the cluster")
    student.visit(url + "/")
    check(student.run("document.activeElement.id") == "code", "the page does not ask for the code")
    student.run(f"document.getElementById('code').value = '{code.upper()}'")
    press(student, "code")
    wait_for(student, "document.querySelector('#reply input')", "an input for the answer")
    check(student.run("location.pathname") == "/" + code, "a reload would lose the class")
    student.run("document.querySelector('#reply input').value = 'many'; document.querySelector('#reply button').click()")
    wait_for(student, "document.getElementById('said').textContent.includes('write a number')", "a word on an unreadable answer")
    student.complaints[:] = [one for one in student.complaints if "400 (Bad Request)" not in one]
    student.run("document.querySelector('#reply input').value = '3,5'; document.querySelector('#reply button').click()")
    wait_for(student, "document.getElementById('sent').textContent.endsWith('as psim reads it: 3.5')", "how psim reads the answer")
    for number in range(60):
        say(url, code, number, 1, [1, 2, 3, 3.4, 3.6, 3.8, 4, 4.5, 5, 6][number % 10] if number else 1e6)
    wait_for(teacher, "document.querySelector('#answers summary').textContent.startsWith('61 answered')", "61 answers")
    look(teacher, student, pictures, "open")
    press(teacher, "toggle")
    wait_for(student, "document.getElementById('sent').textContent.includes('closed')", "closed")
    check(student.run("document.getElementById('reply').hidden"), "a student may still answer")
    check(student.run("document.getElementById('answers').hidden && !document.getElementById('bars').textContent"), "a student sees the others' answers")
    press(teacher, "reveal")
    wait_for(teacher, "document.getElementById('told').textContent && !document.getElementById('told').textContent.includes('still')", "the answer")
    wait_for(student, "document.getElementById('told').textContent.includes('slowest worker')", "the reason on the student's page")
    check(teacher.run("document.querySelectorAll('.here').length") == 1, "the right answer is not marked")
    check("% of them right" in teacher.run("document.querySelector('#answers summary').textContent"), "no share of right answers")
    look(teacher, student, pictures, "shown")
    press(teacher, "next")
    wait_for(student, "document.getElementById('which').textContent.includes('prediction 2 of')", "the next question")
    check(student.run("document.querySelector('#reply input').value") == "" and not text(student, "told"), "the next question begins with the last one's answer")


def main(psim, pictures):
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("skipped: there is no Chromium here; on Debian: apt-get install chromium")
        return 77
    os.makedirs(os.path.dirname(pictures), exist_ok=True)
    server = subprocess.Popen([psim, "serve", "--class", "2"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    browsers = [Browser(program), Browser(program)]
    try:
        address, join = (re.search(r"http\S+", server.stdout.readline()).group() for _ in range(2))
        play(*browsers, address, join, pictures)
        own = re.escape(join.rsplit("/", 1)[0])
        for browser in browsers:
            problems.extend(one for one in browser.complaints if not re.search(rf"^request: {own}/(class\?\d+|state\?\d+|answer\?1|act)$", one))
    finally:
        for browser in browsers:
            browser.close()
        server.send_signal(signal.SIGINT)
        check(server.wait() == 130, "Ctrl-C does not end psim serve")
    for problem in problems[:40]:
        print(problem)
    if not problems:
        print(f"a class has predicted; pictures: {pictures}-*.png")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
