# SPDX-License-Identifier: MIT
"""Runs of ndkperf's two ends, for its tests. The programs are the test's arguments: NDKPERF NDKPING."""
import os
import pathlib
import re
import signal
import subprocess
import sys

NDKPERF, NDKPING = sys.argv[1:3]
LOOPBACK = pathlib.Path("/sys/class/net/lo/ifindex").read_text(encoding="ascii").strip()
SANITIZED = b"__sanitizer" in pathlib.Path(NDKPERF).read_bytes() # its memory is not the program's alone
LIMIT = 800 # seconds, only to end a run that hangs
SHORT = ("-n", "300", "--warmup", "0.01")
failures = 0
count = 0
port = 21100 # counted up: below what the kernel (32768) and the provider (49152) give out by themselves


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def run(*options, env=None, program=NDKPERF):
    p = subprocess.run([program, *options], capture_output=True, text=True, timeout=LIMIT,
                       env={**os.environ, **(env or {})})
    return p.returncode, p.stdout, p.stderr


def has_data(options):
    """Does standard output have JSON or CSV, so that the lines are on standard error?"""
    return any(word in options for word in ("json", "csv", "--json", "--csv"))


class Process:
    """One end in the background. A server listens when the with-block begins."""

    def __init__(self, *options, until="listening", env=None):
        self.process = subprocess.Popen([NDKPERF, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        self.until, self.out, self.err = until, "", ""

    def __enter__(self):
        on_stderr = self.until != "listening" or has_data(self.process.args)
        stream = self.process.stderr if on_stderr else self.process.stdout
        for line in stream:
            if on_stderr:
                self.err += line
            else:
                self.out += line
            if self.until in line or "failed" in line or "private data" in line:
                break
        return self

    def __exit__(self, *_):
        try:
            out, err = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            err += "(had to be ended)"
        self.out += out
        self.err += err
        self.code = self.process.returncode
        self.text = self.out + self.err


def address():
    global port
    port += 1
    return f"127.0.0.1:{port}"


def pair(name, client=(), server=(), codes=(0, 0), client_says=(), server_says=(), at=None, client_env=None,
         server_env=None):
    """Runs both ends. Returns the standard output of each."""
    at = at or address()
    with Process("server", "--address", at, "-W", "60", *server, env=server_env) as s:
        code, out, err = run("client", "--address", at, *client, env=client_env)
        check(f"{name}: stderr is for the live line", has_data(client) or "--html" in client or not err, err)
        if code in (4, 5): # the server waits for another one
            s.process.send_signal(signal.SIGINT)
    check(f"{name}: exit codes", (code, s.code) == codes, (code, out, err, s.code, s.text))
    for wanted in client_says:
        check(f"{name}: client says {wanted}", wanted in out + err, out + err)
    for wanted in server_says:
        check(f"{name}: server says {wanted}", wanted in s.text, s.text)
    return out, s.out


def rows(text):
    """The lines of numbers."""
    return [line.split() for line in text.splitlines() if re.fullmatch(r"[\d. ]+", line) and line.strip()]


def end():
    """Prints how many checks failed, and returns the exit status."""
    print(f"{count - failures} passed, {failures} failed")
    return failures != 0
