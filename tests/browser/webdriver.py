# SPDX-License-Identifier: MIT
"""Drives a headless Chromium through chromedriver's HTTP interface (W3C WebDriver)."""
import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import time

CHROMIUM = shutil.which("chromium")
CHROMEDRIVER = shutil.which("chromedriver")
# The keys of a keyboard that have no character, as WebDriver numbers them.
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "PageUp": "\ue00e", "PageDown": "\ue00f", "End": "\ue010",
        "Home": "\ue011", "ArrowUp": "\ue013", "ArrowDown": "\ue015"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class BrowserError(Exception):
    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """A Chromium with one window, as long as the `with` block runs."""

    def __init__(self, profile, width=1400, height=900, dark=False):
        self.port = free_port()
        self.log = open(os.path.join(profile, "chromedriver.log"), "wb")
        self.driver = subprocess.Popen([CHROMEDRIVER, f"--port={self.port}"], stdout=self.log, stderr=self.log)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", f"--window-size={width},{height}", f"--user-data-dir={profile}/user",
                     "--host-resolver-rules=MAP * ~NOTFOUND"]
        if dark:
            arguments.append("--force-dark-mode")
        options = {"binary": CHROMIUM, "args": arguments}
        capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                        "goog:loggingPrefs": {"browser": "ALL"}}}
        self.session = None
        try:
            self.wait_for_driver()
            self.session = self.call("POST", "/session", {"capabilities": capabilities}, "")["sessionId"]
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            if self.session:
                self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.log.close()

    def wait_for_driver(self):
        while True:
            try:
                if self.call("GET", "/status", None, "")["ready"]:
                    return
            except OSError:
                pass
            if self.driver.poll() is not None:
                raise BrowserError(f"chromedriver has ended with {self.driver.returncode}")
            time.sleep(0.05)

    def call(self, method, path, body=None, prefix=None):
        """Sends a command. Returns its value."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        prefix = f"/session/{self.session}" if prefix is None else prefix
        data = json.dumps(body) if body is not None else "{}" if method == "POST" else None
        try:
            connection.request(method, prefix + path, data, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise BrowserError(f"{method} {path}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def open(self, path):
        self.call("POST", "/url", {"url": f"file://{os.path.abspath(path)}"})

    def run(self, script, *arguments):
        """Runs JavaScript. Returns what the script returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """Runs JavaScript that calls its last argument with the result."""
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def keys(self, *names):
        """Presses keys where the focus is."""
        actions = []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click_at(self, x, y):
        actions = [{"type": "pointerMove", "x": int(x), "y": int(y), "duration": 0},
                   {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def wheel(self, x, y, down, control=False):
        key = {"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown" if control else "pause", **({"value": "\ue009"} if control else {})},
            {"type": "pause"}, {"type": "keyUp" if control else "pause", **({"value": "\ue009"} if control else {})}]}
        wheel = {"type": "wheel", "id": "wheel", "actions": [
            {"type": "pause"}, {"type": "scroll", "x": int(x), "y": int(y), "deltaX": 0, "deltaY": down}]}
        self.call("POST", "/actions", {"actions": [key, wheel]})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def print(self, path):
        data = base64.b64decode(self.call("POST", "/print", {"background": True}))
        with open(path, "wb") as file:
            file.write(data)
        return data

    def size(self, width, height):
        self.call("POST", "/window/rect", {"width": width, "height": height})

    def problems(self):
        """Returns the messages of the page's console since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def settle(self):
        """Waits until the page has drawn."""
        self.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")
