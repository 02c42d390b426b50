"""Chromium without a window, driven over its debugging pipe: nothing but Python's standard library."""
import base64
import json
import os
import shutil
import subprocess
import tempfile


class Browser:
    """One page. `complaints` has every message of its console and every request but the one for the page."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="psim-browser-")
        to_read, self.out = os.pipe()
        self.back, to_write = os.pipe()

        def arrange():  # the browser reads file 3 and writes file 4
            reading, writing = os.dup(to_read), os.dup(to_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
             "--no-first-run", "--disable-dev-shm-usage", "--disable-extensions", f"--user-data-dir={self.folder}",
             "about:blank"],
            preexec_fn=arrange, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.text, self.number, self.session, self.complaints, self.url = b"", 0, None, [], ""
        self.loaded = False
        targets = self.ask("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def receive(self):
        while b"\0" not in self.text:
            more = os.read(self.back, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.text += more
        message, self.text = self.text.split(b"\0", 1)
        message = json.loads(message)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, what):
        if method == "Runtime.consoleAPICalled":
            self.complaints.append("console: " + json.dumps(what["args"])[:500])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append("exception: " + json.dumps(what["exceptionDetails"])[:800])
        elif method == "Log.entryAdded":
            self.complaints.append("log: " + json.dumps(what["entry"])[:500])
        elif method == "Network.requestWillBeSent":
            asked = what["request"]["url"]
            if asked.split("#")[0] != self.url and not asked.startswith("data:"):
                self.complaints.append("request: " + asked[:300])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def ask(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        self.visit("file://" + os.path.abspath(path))

    def visit(self, url):
        """Loads it anew, even if only what is behind # is another."""
        self.url, self.loaded = url.split("#")[0], False
        self.ask("Page.navigate", url="about:blank")
        while not self.loaded:
            self.receive()
        self.loaded = False
        self.ask("Page.navigate", url=url)
        while not self.loaded:
            self.receive()

    def run(self, script):
        """The value of a JavaScript expression."""
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:1500])
        return result["result"].get("value")

    def size(self, width, height, scale=1):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def look(self, dark=False, media=""):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme, still])

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key)

    def picture(self, path):
        """All of the page, down to its end."""
        box = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": box["width"], "height": min(box["height"], 12000), "scale": 1}
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def paper(self, path):
        sheet = self.ask("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)
        with open(path, "wb") as file:
            file.write(base64.b64decode(sheet["data"]))

    def close(self):
        try:
            self.ask("Browser.close")
        except (OSError, RuntimeError):
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
