# SPDX-License-Identifier: MIT
"""For the tests of ndkstat: running it, reading its tables, and processes that it shows."""
import json
import os
import pathlib
import re
import subprocess
import sys

NDKSTAT, CONSUMER, NDKPING = sys.argv[1:4]
LOOPBACK = int(pathlib.Path("/sys/class/net/lo/ifindex").read_text())
LIMIT = 250
failures = 0
count = 0


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


entering = [] # what a command begins with that is to run where the consumer does


def stat(*options):
    """Other tests run at the same time, in network namespaces of their own: --here keeps them out."""
    return stat_everywhere("--here", *options)


def stat_everywhere(*options):
    p = subprocess.run([*entering, NDKSTAT, *options], capture_output=True, text=True, timeout=LIMIT)
    return p.returncode, p.stdout, p.stderr


def network_of(pid):
    return os.readlink(f"/proc/{pid}/ns/net")


class Consumer:
    """A process with a connection, listeners and an endpoint during the with-block."""

    def __init__(self, family):
        self.process = subprocess.Popen([CONSUMER, "--filter", "stand_still", "--family", family],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.is_ = json.loads(self.process.stdout.readline())
        if network_of(self.is_["pid"]) != network_of("self"): # where it could make one of its own
            entering[:] = ["nsenter", "-t", str(self.is_["pid"]), "-n"]
        return self

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __exit__(self, *_):
        try:
            self.rest = self.process.communicate("\n\n\n", timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.rest = self.process.communicate()[0] + "(had to be ended)"
        entering.clear()
        check("consumer ends well", self.process.returncode == 0, self.rest)


HEADING = "Active NetworkDirect Connections, Listeners, SharedEndpoints"


def cells(text):
    """The rows of all tables: dictionaries by the tables' titles. A cell may contain single blanks."""
    found, titles = [], []
    for line in text.splitlines():
        parts = re.split(r"  +", line.strip()) if line.startswith("  ") else []
        if len(parts) > 1 and "PID" in parts:
            titles = parts
        elif titles and len(parts) == len(titles):
            found.append(dict(zip(titles, parts)))
    return found


def rows(text):
    """The rows of the default table: (type, local, foreign, pid) and the state, if it is shown."""
    found = []
    for row in cells(text):
        check("interface index of a row", int(row["IfIndex"]) == LOOPBACK, row)
        pid = row["PID"] if "uid" in row["PID"] else int(row["PID"])
        found.append((row["Type"], row["Local Address"], row["Foreign Address"], pid, row.get("State")))
    return sorted(found, key=str)


class Server:
    """ndkping that listens during the with-block."""

    def __init__(self, port):
        self.process = subprocess.Popen([NDKPING, "-S", "-ServerAddr", f"127.0.0.1:{port}"], stdout=subprocess.PIPE,
                                        text=True)

    def __enter__(self):
        self.process.stdout.readline()
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def finish():
    """Prints how many checks passed. Returns the exit code."""
    print(f"{count - failures} passed, {failures} failed")
    return failures != 0
