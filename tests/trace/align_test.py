#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndktrace with the traces of both ends, whose clocks differ: after alignment no frame arrives before it was sent.

usage: align_test.py NDKTRACE NDKPERF
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import trace_maker

NDKTRACE, NDKPERF = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
FRAMES = ("tagged", "untagged", "no_segment", "mpa_sent", "mpa_received")
SECOND = 10**9
failed = []


def check(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{seen}", flush=True)


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False, env=ENVIRONMENT)
    check(f"{command[:3]}", done.returncode == 0, done.stderr)
    return done.stdout


def clock_lines(*files):
    return [line for line in run(NDKTRACE, "show", "-e", "adapter", *files).splitlines() if line.startswith("# clock")]


def show(*files):
    return [json.loads(line) for line in run(NDKTRACE, "show", "--json", *files).splitlines()]


def is_sent(event):
    return event["event"] == "mpa_sent" or event["fields"].get("direction") == "sent"


def delays(events, sender, receiver):
    """How long each frame took from one process to the other. Frames of a connection are in order."""
    lists = {}
    for event in events:
        if event["event"] not in FRAMES or (event["process"] == sender) != is_sent(event):
            continue
        kind = "mpa" if event["event"].startswith("mpa") else "fpdu"
        lists.setdefault((event["process"], event["connection"], kind), []).append(event["time_ns"])
    found = []
    for (process, connection, kind), sent in lists.items():
        if process == sender:
            received = lists[receiver, connection, kind]
            check("as many frames received as sent", len(sent) == len(received), (len(sent), len(received)))
            found += [r - s for s, r in zip(sent, received)]
    return found


def shifted(file, seconds, host=None):
    """A copy of the file, written by a host whose clock is ahead."""
    data = bytearray(file.read_bytes())
    struct.pack_into("<Q", data, 40, struct.unpack_from("<Q", data, 40)[0] + int(seconds * SECOND))
    if host:
        data[128:192] = host.encode().ljust(64, b"\0")
    copy = file.with_name("shifted")
    copy.write_bytes(data)
    return copy


def test_real_traces(path):
    server = subprocess.Popen([NDKTRACE, "run", "-o", str(path / "server"), "--", NDKPERF, "server", "--address",
                               "127.0.0.1:50200"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env=ENVIRONMENT)
    server.stdout.readline()
    run(NDKTRACE, "run", "-o", path / "client", "--", NDKPERF, "client", "--address", "127.0.0.1:50200", "--test",
        "rperf", "--size", "8K", "--iterations", "200", "--warmup", "0", "--qp", "2")
    server.communicate(timeout=120)
    pids = [show(path / name)[0]["process"] for name in ("client", "server")]
    line = clock_lines(path / "client", path / "server")
    check("one host: the same clock", len(line) == 1 and ": the same as of process" in line[0], line)
    for seconds, host, method in ((1000, "other", "are corrected"), (-1000, "other", "are corrected"),
                                  (0.01, "other", "are corrected"), (-3, None, "are corrected"),
                                  (0.5, None, "the same as of")):
        file = shifted(path / "server", seconds, host)
        for files in ((path / "client", file), (file, path / "client")):
            line = clock_lines(*files)
            check(f"{seconds} s: how", len(line) == 1 and method in line[0], line)
            events = show(*files)
            check(f"{seconds} s: merged by the aligned time", [e["time_ns"] for e in events] ==
                  sorted(e["time_ns"] for e in events))
            both = delays(events, *pids) + delays(events, *reversed(pids))
            check(f"{seconds} s: no frame arrives before it was sent", len(both) > 500 and min(both) >= 0,
                  (len(both), sorted(both)[:5]))
            check(f"{seconds} s: the beginning", abs(events[0]["seconds"]) < 5, events[0])
            amount, unit = re.search(r"(?:say|about) ([0-9.]+) (s|ms|us) ", line[0]).groups()
            found = float(amount) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]
            amount, unit = re.search(r"\+-([0-9.]+) (s|ms|us)", line[0]).groups()
            limit = float(amount) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]
            check(f"{seconds} s: the offset, within its uncertainty", abs(found - abs(seconds)) <= limit + 2e-6, line)


REQUEST, REPLY = (b"MPA ID %s Frame\x40\x01\0\0" % word for word in (b"Req", b"Rep"))


class Pair:
    """The traces of a client and of a server, whose clock is `ahead`."""

    def __init__(self, schema, ahead=0):
        self.client = trace_maker.Maker(schema, pid=1, host="one", realtime_ns=10**18, monotonic_ns=5 * 10**12)
        self.server = trace_maker.Maker(schema, pid=2, host="two", realtime_ns=10**18 + ahead, monotonic_ns=10**12)
        self.number = 0

    def connect(self, at, port=50000, delay=1000, in_client=True, in_server=True, data=b""):
        """A connection that begins at this time. Returns its number."""
        self.number += 1
        here, there, n = f"192.0.2.1:{port}", "192.0.2.2:7000", self.number
        if in_client:
            self.client.add("connection", at, n, role="initiated", local=here, remote=there)
            self.client.add("mpa_sent", at + 1, n, frame="request", bytes=REQUEST + data)
            self.client.add("mpa_received", at + 10 + 2 * delay, n, frame="accept", bytes=REPLY)
        if in_server:
            self.server.add("connection", at + delay, n, role="accepted", local=there, remote=here)
            self.server.add("mpa_received", at + delay + 1, n, frame="request", bytes=REQUEST + data)
            self.server.add("mpa_sent", at + delay + 2, n, frame="accept", bytes=REPLY)
        return n

    def send(self, at, number, delay=1000, in_client=True, in_server=True, event="untagged", **fields):
        if in_client:
            self.client.add(event, at, number, direction="sent", **fields)
        if in_server:
            self.server.add(event, at + delay, number, direction="received", **fields)

    def lines(self, path, sequence=1):
        self.client.write(path / "client", sequence)
        self.server.write(path / "server", sequence)
        return clock_lines(path / "client", path / "server")


def test_addresses_used_again(path):
    """Connections with the same addresses: those belong together that followed each other at the same distances."""
    schema = trace_maker.schema_of(path / "server")
    times = [0, 5, 7, 16, 18]  # seconds
    for name, client, server in (("both have all", range(5), range(5)),
                                 ("the server began late", range(5), range(2, 5)),
                                 ("the client began late", range(1, 5), range(5)),
                                 ("each lacks others", range(0, 4), range(2, 5)),
                                 ("only one in common", range(5), range(3, 4))):
        pair = Pair(schema, 3 * SECOND // 10)
        for i, at in enumerate(times):
            pair.connect(at * SECOND, in_client=i in client, in_server=i in server, delay=100000 + 1000 * i)
        lines = pair.lines(path)
        check(f"addresses used again: {name}", "about 300.000 ms ahead" in lines[0], lines)
    pair = Pair(schema, 100 * SECOND)
    pair.connect(0, port=49999)
    for i, at in enumerate(times):
        pair.connect(at * SECOND, in_server=i == 2)
    lines = pair.lines(path)
    check("another connection has told the clocks' offset", "from 6 frames" not in lines[0] and
          "about 100.000000 s ahead (from 4 frames)" in lines[0], lines)
    pair = Pair(schema)
    pair.connect(0, in_server=False, data=b"one")
    pair.connect(SECOND, in_client=False, data=b"two")
    lines = pair.lines(path)
    check("other private data: another connection", "no connection in common" in lines[0], lines)


def test_missing_frames(path):
    """Newer events have overwritten older ones, so that the first frames of the two files are not the same."""
    schema = trace_maker.schema_of(path / "server")
    pair = Pair(schema, 7 * SECOND)
    n = pair.connect(0, delay=SECOND)
    for i in range(100):
        # The client's file lacks the first 20, the server's file the first 30. A write lies between two sends.
        at = SECOND + 1000 * i
        pair.send(at, n, 500, i >= 20, i >= 30, opcode="send", msn=i, payload=64)
        pair.send(at + 500, n, 400, i >= 20, i >= 30, event="tagged", opcode="write", stag=1, to=0, payload=64)
    lines = pair.lines(path, sequence=2)
    check("overwritten frames are not taken for others", "from 142 frames" in lines[0], lines)
    # The request and its reply took a second each, the frames only 400 ns: 7 s + (400 ns - 1 s) / 2.
    check("... and the least delays count",
          "about 6.500000 s ahead (from 142 frames), and the times are corrected; compare times of the two "
          "clocks only to +-500.000 ms" in lines[0], lines)


def test_reset(path):
    """A reset arrives after the time limit that caused it, unless that does not agree with the frames."""
    schema = trace_maker.schema_of(path / "server")
    for reset_at, clock in ((10 * SECOND + 100, "about 7.500000 s ahead"), (5 * SECOND, "about 7.000000 s ahead")):
        pair = Pair(schema, 7 * SECOND)
        n = pair.connect(0, delay=SECOND)
        pair.server.add("limit_expired", 10 * SECOND, n, state="WAIT_RTR")
        pair.client.add("outcome", reset_at, n, outcome="failed", phase="replied", why="peer-reset", terminate="none")
        lines = pair.lines(path)
        check(f"reset at {reset_at} ns: the clock", clock in lines[0], lines)
        names = [e["event"] for e in show(path / "client", path / "server")]
        if reset_at > 10 * SECOND:
            check("the reset follows the time limit", names.index("limit_expired") < names.index("outcome"), names)


def test_one_direction(path):
    schema = trace_maker.schema_of(path / "server")
    pair = Pair(schema, -5 * SECOND)
    pair.client.add("connection", 0, 1, role="initiated", local="192.0.2.1:50000", remote="192.0.2.2:7000")
    pair.client.add("mpa_sent", 1, 1, frame="request", bytes=REQUEST)
    pair.server.add("connection", 1000, 1, role="accepted", local="192.0.2.2:7000", remote="192.0.2.1:50000")
    pair.server.add("mpa_received", 2001, 1, frame="request", bytes=REQUEST)
    lines = pair.lines(path)
    check("frames of one direction", "unknown, because frames went in one direction only (1)" in lines[0] and
          "4.999998 s behind is assumed" in lines[0], lines)
    events = show(path / "client", path / "server")
    check("... are in order", [e["event"] for e in events] == ["connection", "mpa_sent", "connection",
                                                               "mpa_received"] or
          [e["event"] for e in events] == ["connection", "connection", "mpa_sent", "mpa_received"], events)


def test_three_files(path):
    """A server with two clients: each clock is compared with the first file's, over the server."""
    schema = trace_maker.schema_of(path / "server")
    one, two = Pair(schema, 10 * SECOND), Pair(schema, 10 * SECOND)
    one.connect(0, port=50001)
    one.client.write(path / "one")
    two.number, two.server = 1, one.server
    two.client.realtime_ns += 4 * SECOND
    two.connect(SECOND, port=50002)
    two.client.write(path / "two")
    two.server.write(path / "both")
    lines = clock_lines(path / "one", path / "two", path / "both")
    check("three files", len(lines) == 2 and "4.000000 s ahead" in lines[0] and "10.000000 s ahead" in lines[1], lines)
    lines = clock_lines(path / "one", path / "two")
    check("the two clients have nothing in common", "no connection in common" in lines[0], lines)


with tempfile.TemporaryDirectory() as directory:
    test_real_traces(pathlib.Path(directory))
    test_addresses_used_again(pathlib.Path(directory))
    test_missing_frames(pathlib.Path(directory))
    test_one_direction(pathlib.Path(directory))
    test_three_files(pathlib.Path(directory))
sys.exit(1 if failed else 0)
