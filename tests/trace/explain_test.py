#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndktrace explain with traces made for it: what is unfinished, which connections are explained, other versions.

usage: explain_test.py NDKTRACE NDKPING

failures.py tests what it says about failures of real programs.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import trace_maker

NDKTRACE, NDKPING = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
MS = 10**6
failed = []


def run(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, check=False, env=ENVIRONMENT)


def explain(*arguments, code=0):
    done = run(NDKTRACE, "explain", *arguments)
    expect(f"explain {arguments}: exit code", done.returncode == code, done.stdout)
    return " ".join(done.stdout.split())


def expect(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{seen}", flush=True)


def says(text, *sentences):
    for sentence in sentences:
        expect(f'says "{sentence}"', re.search(sentence, text), text)


def begin_connect(maker, number, at, port=50000, qp=0x20):
    """A client's connection up to the MPA request."""
    maker.add("NdkConnect", at, object=0x10 + number, qp=qp, local=f"192.0.2.1:{port}", remote="192.0.2.2:7000",
              inbound=1,
              outbound=2, data_size=3)
    maker.add("connection", at + 1, number, role="initiated", object=0x10 + number, local=f"192.0.2.1:{port}",
              remote="192.0.2.2:7000")
    maker.add("returned", at + 2, object=0x10 + number, routine="NdkConnect", status="STATUS_PENDING", context=5)
    maker.add("state", at + 3, number, **{"from": "IDLE"}, event="start", to="TCP_CONNECTING")
    maker.add("limit", at + 4, number, state="TCP_CONNECTING", ms=500)


def fail_connect(maker, number, at, why="refused"):
    maker.add("state", at, number, **{"from": "TCP_CONNECTING"}, event="lost", to="IDLE", why=why)
    maker.add("outcome", at + 1, number, outcome="failed", phase="connecting", why=why, terminate="none")
    maker.add("completed", at + 2, object=0x10 + number, routine="NdkConnect", status="STATUS_CONNECTION_REFUSED",
              context=5)


def test_unfinished(schema, path):
    maker = trace_maker.Maker(schema)
    maker.add("adapter", 0, object=1)
    begin_connect(maker, 1, 10 * MS)
    maker.add("NdkCloseCq", 20 * MS, object=0x30)
    maker.write(path)
    says(explain(path), "No connection failed. 0 of 1 connections ended normally", "Not finished when the trace ends",
         r"connection 1 \(192.0.2.1:50000 -> 192.0.2.2:7000\), "
         "for the client in the state TCP_CONNECTING: its NdkConnect "
         "waits for the server's host to answer TCP", r"NdkConnect of object 0x11, called at 0.010000 s by thread 1 of "
         r"program, process 1 on host: it is pending \(STATUS_PENDING\)",
         "NdkCloseCq of object 0x30, .* it has not returned. "
         "A close waits until everything that uses the object is closed", "has not closed its adapter")


def test_nothing(schema, path):
    maker = trace_maker.Maker(schema)
    maker.add("adapter", 0, object=1)
    maker.add("adapter_close", 5, object=1)
    maker.write(path)
    says(explain(path), "There is no connection in the trace", "Nothing was unfinished when the trace ends")


def test_choice(schema, path):
    """Connections that fail in the same way are explained once, and -c chooses others."""
    maker = trace_maker.Maker(schema)
    for number in range(1, 6):
        begin_connect(maker, number, number * 10 * MS, 50000 + number)
        if number != 3:
            fail_connect(maker, number, number * 10 * MS + MS, "no-host" if number == 4 else "refused")
    maker.write(path)
    text = explain(path)
    expect("each way once", text.count("What went wrong") == 2, text)
    says(text, "4 of 5 connections failed", r"In the same way failed the connections 2, 5\.",
         "Connection 4 .* failed: The server's host cannot be reached: no neighbour")
    text = explain("-c", "3,5", path)
    says(text, r"Connection 3 \(.*\) did not fail", r"Connection 5 \(192.0.2.1:50005 -> .*\) failed")
    expect("no others", "Connection 1" not in text and "Not finished" not in text, text)
    says(explain("-c", 9, path), "There is no such connection")


def test_calls_that_failed(schema, path):
    maker = trace_maker.Maker(schema)
    for i in range(3):
        maker.add("NdkCreateQp", 10 * MS + i * 10, object=0x40)
        maker.add("returned", 10 * MS + i * 10 + 5, object=0x40, routine="NdkCreateQp",
                  status="STATUS_INVALID_PARAMETER")
    maker.add("listening", 20 * MS, object=0x50, local="192.0.2.2:7000", why="address-taken")
    maker.write(path)
    says(explain(path), "NdkCreateQp returned STATUS_INVALID_PARAMETER, the first of 3 times. .*To change: Compare "
         "with NdkQueryAdapterInfo",
         r"could not listen at 192.0.2.2:7000 \(address-taken\). The local address and port are in use")


def test_listeners(schema, path):
    """A refused client, and what the server's process did at that time."""
    client = trace_maker.Maker(schema, pid=1, host="one")
    begin_connect(client, 1, 100 * MS)
    fail_connect(client, 1, 101 * MS)
    client.write(path)
    other = path.with_name("other")
    for at, address, close, headline, sentence in (
            (50, "0.0.0.0:7000", None, "the TCP connection was refused, although",
             "had been listening at the address since 0.050000 s, but its trace has nothing"),
            (50, "192.0.2.2:7001", None, "no program listened at this address",
             "listened at 192.0.2.2:7001, not at this address"),
            (150, "192.0.2.2:7000", None, "the server did not listen yet",
             "began to listen at the address only 50 ms later"),
            (50, "192.0.2.2:7000", 80, "the server had closed its listener",
             "had listened at the address, but closed its listener before, at 0.080000 s")):
        server = trace_maker.Maker(schema, pid=2, host="two")
        server.add("listening", at * MS, object=0x50, local=address, why="ok")
        if close:
            server.add("NdkCloseListener", close * MS, object=0x50)
        server.write(other)
        says(explain(path, other), f"failed: {headline}", f"program, process 2 on two {sentence}")


def test_other_versions(schema, path):
    """The file explains itself: its texts are used. Without texts and calls, less is said."""
    maker = trace_maker.Maker(schema.replace("The peer's host cannot be reached:", "Words of another version:"))
    begin_connect(maker, 1, 10 * MS)
    fail_connect(maker, 1, 11 * MS, "no-host")
    maker.write(path)
    says(explain(path), "Words of another version:")
    lines = [line for line in schema.splitlines() if not re.match(r"text |advice |event \d+ (Ndk|returned|completed)",
                                                                  line)]
    maker = trace_maker.Maker("\n".join(lines) + "\n")
    maker.add("connection", 0, 1, role="initiated", local="192.0.2.1:50000", remote="192.0.2.2:7000")
    maker.add("outcome", MS, 1, outcome="failed", phase="connecting", why="refused", terminate="none")
    maker.add("connection", 2 * MS, 2, role="accepted", local="192.0.2.1:50000", remote="192.0.2.2:7000")
    maker.add("outcome", 3 * MS, 2, outcome="failed", phase="arriving", why="crowded-out", terminate="none")
    maker.write(path)
    says(explain(path), 'reports the reason "refused"', "most likely no program listens",
         'reports the reason "crowded-out"')


def test_lost_beginning(schema, path):
    maker = trace_maker.Maker(schema)
    maker.add("state", 0, 7, **{"from": "ESTABLISHED"}, event="lost", to="DEAD", why="peer-silent")
    maker.add("outcome", 1, 7, outcome="failed", phase="established", why="peer-silent", terminate="none")
    maker.write(path, sequence=9)
    says(explain(path),
         r"Connection 7 \(an unknown address -> an unknown address\) failed: The client's host did not acknowledge",
         "The trace begins too late: .*Record again with a larger file")


def test_usage(path):
    explain(code=2)
    explain(path.with_name("none"), code=1)


with tempfile.TemporaryDirectory() as directory:
    real = pathlib.Path(directory) / "real"
    run(NDKTRACE, "run", "-o", real, "--", NDKPING, "-C", "-ServerAddr", "127.0.0.1:50299")
    SCHEMA = trace_maker.schema_of(real)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            arguments = (SCHEMA, pathlib.Path(directory) / "trace") if test is not test_usage else (real,)
            test(*arguments)
sys.exit(1 if failed else 0)
