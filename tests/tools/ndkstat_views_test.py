#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkstat's views of connections, objects and failures, as tables, CSV and JSON, and the full-screen table."""
import csv
import datetime
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from stat_kit import LIMIT, NDKSTAT, Consumer, cells, check, entering, finish, stat


def table(*options):
    code, out, err = stat(*options)
    check(f"{options}: a table", code == 0 and not err, (code, out, err))
    return cells(out)


def comma_separated(*options):
    """The tables of CSV output, which an empty line separates: lists of dictionaries."""
    code, out, err = stat("--csv", *options)
    check(f"{options}: CSV", code == 0 and not err, (code, out, err))
    return [list(csv.DictReader(io.StringIO(part + "\n"))) for part in out.rstrip("\n").split("\n\n")]


def connections(c):
    it = c.is_
    by_local = {row["Local Address"]: row for row in table("--connections")}
    check("connections alone", set(by_local) == {it["active"], it["passive"]}, by_local)
    check("nothing was sent", [by_local[it["active"]][k] for k in ("OutSends", "InSends", "OutBytes")] ==
          ["0", "0", "8"], by_local) # the ready-to-receive message
    check("data moved", c.go_on() == "exchanged", c)
    rows = comma_separated("--connections")[0]
    by_local = {row["local"]: row for row in rows}
    active, passive = by_local[it["active"]], by_local[it["passive"]]
    check("one message", (active["out_sends"], active["in_sends"], passive["out_sends"], passive["in_sends"]) ==
          ("1", "0", "0", "1"), rows)
    check("both ends agree", active["out_octets"] == passive["in_octets"] and
          active["out_frames"] == passive["in_frames"] and active["foreign"] == it["passive"], rows)
    check("CSV: the process", all((r["pid"], r["uid"], r["program"]) == (str(it["pid"]), str(os.getuid()),
                                  "stat_consumer") and "--filter stand_still" in r["command"] for r in rows), rows)
    check("CSV: the age", all(0 < float(r["age_s"]) < LIMIT for r in rows), rows)
    first = stat("--connections", "--verbose")[1]
    check("verbose: more columns", all(t in first for t in ("OutFrames", "ReadsIn", "QP", "Command")), first)


def objects(c):
    it = c.is_
    code, out, err = stat("--objects")
    for heading in ("Adapters", "Protection Domains", "Completion Queues", "Queue Pairs", "Memory Regions", "Listeners",
                    "Shared Endpoints"):
        check(f"objects: {heading}", code == 0 and f"\n{heading}\n\n" in out, (code, out, err))
    check("objects: no table without rows", "Memory Windows" not in out, out)
    check("--objects=qp", [(r["State"], r["RecvDepth"], r["PD"]) for r in table("--objects=qp")] ==
          [("connected", "64", "1")] * 2, out)
    check("--objects mr", [(r["State"], r["Length"], r["RemoteWrite"]) for r in table("--objects", "mr")] ==
          [("registered", "4.00M", "yes")] * 2, out)
    check("--objects=mw: an empty table", table("--objects=mw") == [], out)
    cqs, adapters = comma_separated("--objects=cq,adapter")[::-1]
    check("CSV: completion queues", [(r["depth"], r["queued"], r["affinity"], r["armed"]) for r in cqs] ==
          [("128", "0", "-1", "none")] * 2, cqs)
    check("CSV: adapters", sorted((r["adapter"], r["connections"], r["listeners"], r["queue_pairs"])
          for r in adapters) == [("1", "1", "1", "1"), ("2", "1", "1", "1")], adapters)
    check("CSV: limits", {(r["max_private"], r["max_inbound_reads"], r["max_cq_depth"]) for r in adapters} ==
          {("252", "64", "262144")}, adapters)
    check("limits: only if verbose", "MaxReadsIn" in stat("--objects=adapter", "--verbose")[1] and
          "MaxReadsIn" not in stat("--objects=adapter")[1], "")
    rows = comma_separated("--counters")[0]
    check("CSV: counters", sorted((r["initiated_connections"], r["accepted_connections"]) for r in rows) ==
          [("0", "1"), ("1", "0")] and {r["pid"] for r in rows} == {str(it["pid"])}, rows)
    adapter = json.loads(stat("--json", "--objects=qp")[1])["processes"][0]["adapters"][0]
    check("JSON of a view", len(adapter["queue_pairs"]) == 1 and "connections" not in adapter and
          "counters" not in adapter and "limits" not in adapter and "connection_count" not in adapter, adapter)
    adapter = json.loads(stat("--json", "--objects=adapter")[1])["processes"][0]["adapters"][0]
    check("JSON of the adapters alone", (adapter["connection_count"], adapter["queue_pair_count"]) == (1, 1) and
          "limits" in adapter and not [k for k in adapter if isinstance(adapter[k], list)],
          adapter)


ASK_FOR_A_PAGE = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n" + b"x" * 64)
try:
    s.recv(100)
except OSError:
    pass
"""


def failures(c):
    """A peer that speaks another protocol is refused, and the consumer never learns of it."""
    host, port = c.is_["passive"].rsplit(":", 1)
    shown = stat("--failures")[1]
    check("no failure yet", "no failures" in shown.splitlines() and "Count" not in shown, shown)
    check("no failure yet: CSV has titles alone", stat("--failures", "--csv")[1].count("\n") == 1, "")
    for _ in range(2):
        subprocess.run([*entering, sys.executable, "-c", ASK_FOR_A_PAGE, host, port], check=True, timeout=LIMIT)
    deadline = time.monotonic() + LIMIT
    while [r["Count"] for r in table("--failures")] != ["2"] and time.monotonic() < deadline:
        time.sleep(0.05)
    found = table("--failures")
    check("a refused peer", [(r["PID"], r["Role"], r["Local Address"], r["Count"], r["Phase"])
          for r in found] == [(str(c.is_["pid"]), "accepted", c.is_["passive"], "2", "arriving")], found)
    row = comma_separated("--failures")[0][0]
    utc = datetime.datetime.fromtimestamp(int(float(row["last_time_s"])), datetime.timezone.utc)
    check("when and why", [(r["Last"],
                            r["Reason"]) for r in found] == [(f"{utc:%Y-%m-%dT%H:%M:%SZ}", row["reason"])] and
          all(len(r["Why"]) > 10 for r in found), (found, row))
    lines = stat("--failures", "--verbose")[1].splitlines()
    check("the advice is on a line of its own", lines[-1].strip() == row["advice"] and
          lines[-1].startswith("      ") and
          "Advice" not in lines[-3] and row["reason"] in lines[-2], lines)
    check("CSV: a failure", abs(float(row["last_time_s"]) - time.time()) < LIMIT and row["reason"] and
          row["advice"], row)
    rest = json.loads(stat("--json", "--failures")[1])["processes"]
    check("JSON: failures alone", sum(len(p["failures"]) for p in rest) == 1 and
          all("connections" not in a for p in rest for a in p["adapters"]), rest)
    check("failures of another address", table("--failures", "-A", "192.0.2.1") == [], found)


# ---- the full screen ----


class Terminal:
    """ndkstat on a terminal of its own."""

    def __init__(self, *options, rows=12, columns=100):
        self.main, self.side = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.side)
        self.process = subprocess.Popen([*entering, NDKSTAT, "--here", "--watch=60", *options], stdin=self.side,
                                        stdout=self.side,
                                        stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm"},
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.seen = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, pattern):
        """Reads until the pattern is seen, or for a long time. Returns the output that ends with the match."""
        deadline = time.monotonic() + LIMIT
        while not re.search(pattern, self.seen, re.S) and time.monotonic() < deadline:
            if select.select([self.main], [], [], 0.2)[0]:
                self.seen += os.read(self.main, 65536).decode()
        found = re.search(pattern, self.seen, re.S)
        check(f"the screen shows {pattern}", found, self.seen[-2000:])
        seen, self.seen = self.seen[:found.end() if found else 0], self.seen[found.end() if found else 0:]
        return seen

    def key(self, text):
        os.write(self.main, text.encode())

    def is_restored(self):
        return termios.tcgetattr(self.side)[3] == self.before[3]

    def end(self):
        """Waits for the end. Returns the exit code."""
        try:
            code = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "none"
        while select.select([self.main], [], [], 0)[0]:
            self.seen += os.read(self.main, 65536).decode()
        check("the terminal is restored", self.is_restored() and self.seen.count("\x1b[?1049l") == 1 and
              self.seen.rindex("\x1b[?1049l") > self.seen.rfind("\x1b[K"), (code, self.seen[-300:]))
        os.close(self.main)
        os.close(self.side)
        return code


SHOWN = "\x1b\\[J" # a screen ends with it


def screens(c):
    it = c.is_
    t = Terminal()
    screen = t.wait_for(SHOWN)
    check("the alternate screen", screen.startswith("\x1b[?1049h") and "\x1b[7mndkstat  " in screen and
          it["active"] in screen and "lines 1-" in screen, screen)
    check("no echo meanwhile", not t.is_restored(), t.before)
    t.key("\x1b[B")
    t.wait_for(SHOWN)
    t.resize(5, 40) # sends SIGWINCH
    screen = t.wait_for(SHOWN)
    lines = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", screen).split("\r\n")
    check("a small terminal", len(lines) <= 5 and all(len(line) <= 40 for line in lines), lines)
    t.key("j")
    screen = t.wait_for(SHOWN)
    check("scrolled", "Active" not in screen and "IfIndex" in screen, screen)
    t.key(" ")
    t.wait_for(SHOWN) # another reading
    t.key("q")
    check("q quits", t.end() == 0, t.process.stderr.read())
    t = Terminal("--counters", rows=60)
    t.wait_for("RDMA Inbound Bytes.*" + SHOWN)
    t.key("\x03")
    check("Ctrl-C ends it", t.end() == 130, t.process.stderr.read())
    t = Terminal("--counters")
    t.wait_for(SHOWN)
    t.process.send_signal(signal.SIGTERM)
    check("so does SIGTERM", t.end() == 130, t.process.stderr.read())
    suspended()
    t = Terminal("--rounds=1")
    t.wait_for(SHOWN)
    t.key(" ")
    check("the last round", t.end() == 0, t.process.stderr.read())


def suspended():
    t = Terminal()
    t.wait_for(SHOWN)
    t.key("\x1a")
    t.wait_for("\x1b\\[\\?1049l")
    os.waitid(os.P_PID, t.process.pid, os.WSTOPPED | os.WNOWAIT)
    check("Ctrl-Z: the terminal is restored", t.is_restored(), "")
    t.process.send_signal(signal.SIGCONT)
    t.wait_for("\x1b\\[\\?1049h.*" + SHOWN)
    t.key("q")
    check("after Ctrl-Z", t.end() == 0, t.process.stderr.read())


def no_terminal():
    """Without a terminal there is no escape sequence, and Ctrl-C ends the repetition."""
    p = subprocess.Popen([NDKSTAT, "--here", "--watch=0.05"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(12):
        check("plain output", "\x1b" not in p.stdout.readline(), "")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=LIMIT)
    err = re.sub(r"^ndkstat: interrupted, waiting; .*\n", "", err, flags=re.M) # comes after two seconds
    check("plain output ends", p.returncode == 130 and "\x1b" not in out and not err, (p.returncode, out, err))


def main():
    os.environ.pop("ONDK_STAT", None)
    with Consumer("4") as c:
        screens(c)
        objects(c)
        connections(c)
        failures(c)
    no_terminal()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
