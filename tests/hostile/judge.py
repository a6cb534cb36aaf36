# SPDX-License-Identifier: MIT
"""Victims, attackers and clients as processes, and checks that count. See run_hostile.py."""
import concurrent.futures
import json
import os
import resource
import subprocess
import sys
import time

LOCAL_LIMIT_S = 280  # a process that hangs is ended after so long; nothing that passes comes near it
failures = 0
SANITIZED = False    # memory is measured without sanitizers alone: their allocators keep what was freed


def check(name, condition, seen):
    global failures
    failures += not condition
    if not condition:
        print(f"FAILED {name}: {seen!r}", flush=True)
    return condition


def skip(why):
    """Ends the program as skipped, unless a check has failed before."""
    print(f"skipped: {why}", flush=True)
    sys.exit(1 if failures else 77)


def hard_limit():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def limited(command, files):
    """The command with a limit of descriptors. None: the maximum."""
    return ["sh", "-c", f'ulimit -S -n {files or hard_limit()} && exec "$@"', "sh", *map(str, command)]


class Process:
    """A program that prints `ready`, runs until its standard input ends, and then prints JSON."""

    def __init__(self, *command, files=None, env=None):
        self.name = os.path.basename(command[0])
        self.process = subprocess.Popen(limited(command, files), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **(env or {})})

    def line(self):
        return self.process.stdout.readline().strip()

    def ready(self):
        check(f"{self.name} begins", self.line() == "ready", "no `ready`")
        return self

    def end(self):
        try:
            out = self.process.communicate(timeout=LOCAL_LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            out = self.process.communicate()[0]
            check(f"{self.name} ends by itself", False, out)
        lines = [text for text in out.splitlines() if text.startswith("{")]
        self.code = self.process.returncode
        return json.loads(lines[-1]) if lines else {}


class Victim(Process):
    """The service, which runs during the with-block. Afterwards it has exited cleanly, or a check has failed."""

    def __init__(self, binaries, *options, address="127.0.0.1:0", files=None, **config):
        env = {f"ONDK_{name.upper()}": str(value) for name, value in config.items()}
        super().__init__(binaries / "hostile_victim", *options, address, files=files, env=env)
        self.binaries = binaries
        ports = self.line().split()
        if ports[:1] != ["ports"]:
            raise RuntimeError(f"the victim does not start: {ports}")
        host = address.rsplit(":", 1)[0]
        self.addresses = [f"{host}:{port}" for port in ports[1:]]
        self.address = self.addresses[0]

    def command(self, word):
        if self.process.poll() is None:
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
        text = self.line()
        return json.loads(text) if text else {}

    def stat(self):
        return self.command("stat")

    def until(self, condition, seconds=60):
        """Queries until the counts satisfy the condition. Returns the last counts. Fails after a limit."""
        end = time.monotonic() + seconds
        while True:
            seen = self.stat()
            if not seen or condition(seen) or time.monotonic() > end:
                return seen
            time.sleep(0.02)

    def warm_up(self):
        """Warms up threads and allocators. Returns the counts to compare with later."""
        self.expect_served("before the attack")
        self.base = self.until(lambda s: s["now"] == 0)

    def good(self, *options, env=None):
        return Process(self.binaries / "hostile_good", *options, self.address, env=env)

    def hostile(self, attack, *options, address=None):
        return Process(self.binaries / "hostile", *options, attack, address or self.address)

    def expect_served(self, when, *options):
        seen = self.good("--threads", 4, "--rounds", 4, *options).end()
        check(f"good clients are served {when}",
              seen.get("served") == seen.get("tried") and seen.get("tried") and seen.get("wrong_bytes") == 0, seen)
        return seen

    def expect_recovered(self, kib=16384):
        """Checks that connections and descriptors are as before, memory nearly, and that good clients are served."""
        seen = self.until(lambda s: s["now"] == 0 and s["descriptors"] <= self.base["descriptors"])
        check("no connection is left", seen.get("now") == 0, seen)
        check("descriptors are back at the start", seen.get("descriptors", 1e9) <= self.base["descriptors"],
              (self.base, seen))
        if not SANITIZED:
            check("memory is back near the start", seen.get("rss_kib", 1e9) <= self.base["rss_kib"] + kib,
                  (self.base["rss_kib"], seen.get("rss_kib")))
        self.expect_served("after the attack")
        return seen

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.stdin.write("quit\n")
            self.process.stdin.flush()
        seen = self.end()
        check("the victim ends cleanly", self.code == 0, (self.code, seen))
        check("fences are whole", seen.get("whole") is True, seen)


def together(*cases):
    """Runs cases concurrently, because they mostly wait. Each is a function without arguments."""
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        for done in [pool.submit(case) for case in cases]:
            done.result()


def show(title, seen):
    print(f"{title}: {json.dumps(seen)}", flush=True)
