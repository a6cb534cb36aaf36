#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The trace of a consumer has each of its calls and callbacks, with the values that the consumer has seen.

usage: calls_test.py CALL_CONSUMER CALL_FOREIGN
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import trace_reader

CONSUMER, FOREIGN = (os.path.abspath(path) for path in sys.argv[1:3])
FAILED = []


def check(what, good, seen=""):
    if not good:
        FAILED.append(what)
        print(f"FAILED: {what}\n{seen}")


def is_call(name):
    return name.startswith("Ndk") or name in ("returned", "completed", "cq_notification", "srq_notification",
                                              "connect_event", "disconnect_event", "callback_returned", "result",
                                              "untraced")


def text_of(value):
    if isinstance(value, tuple):
        return f"{value[0]}:{value[1]}"
    return str(value)


def is_equal(seen, expected):
    """The consumer prints numbers in other forms, for example pointers."""
    if isinstance(seen, int):
        return expected == "(nil)" and seen == 0 or re.fullmatch(r"0x[0-9a-f]+|\d+", expected) and \
            int(expected, 0) == seen
    return text_of(seen) == expected


def read_expected(text):
    """Returns {thread: [(name, {field: text})]}."""
    threads = collections.defaultdict(list)
    for line in text.splitlines():
        thread, name, *fields = line.split()
        threads[int(thread)].append((name, dict(field.split("=", 1) for field in fields)))
    return threads


def compare_thread(what, expected, events):
    for i, (name, fields) in enumerate(expected):
        if i == len(events):
            check(f"{what}: event {i} is missing", False, (name, fields))
            return
        event = events[i]
        same = event.name == name and all(key in event.fields and is_equal(event.fields[key], value)
                                          for key, value in fields.items())
        check(f"{what}: event {i}", same, f"expected: {name} {fields}\ntraced:   {event.name} {event.fields}")
        if not same:
            return
    check(f"{what}: no other event", len(events) == len(expected), events[len(expected):])


def compare(what, expected, trace):
    events = collections.defaultdict(list)
    for event in trace.events:
        if is_call(event.name):
            events[event.thread].append(event)
    check(f"{what}: the threads", sorted(events) == sorted(expected), (sorted(events), sorted(expected)))
    for thread, lines in expected.items():
        compare_thread(f"{what}, thread {thread}", lines, events[thread])


def check_durations(what, trace):
    """A call takes at least as long as what happens inside it."""
    for thread in {event.thread for event in trace.events}:
        begun = []
        for event in (e for e in trace.events if e.thread == thread and is_call(e.name)):
            fields = event.fields
            if event.name in ("returned", "callback_returned"):
                first = begun.pop()
                check(f"{what}: the duration is that between the events",
                      fields["duration"] == event.time_ns - first.time_ns, (first, event))
                check(f"{what}: calls and callbacks are nested", fields["object"] == first.fields["object"] and
                      fields.get("routine", first.name) == first.name, (first, event))
            elif "duration" in fields or event.name in ("result", "untraced"):
                check(f"{what}: a call of one event", fields.get("duration", 0) < 10**10, event)
            else:
                begun.append(event)
        check(f"{what}: everything returns", not begun, begun)


def record(path, program, *arguments, **settings):
    """Runs a program that records to the path. Returns what it prints."""
    path.unlink(missing_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    done = subprocess.run([program, *arguments], env=dict(env, ONDK_TRACE=str(path), **settings), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250, check=False)
    check(f"{arguments} {settings}: ends well", done.returncode == 0, (done.returncode, done.stderr))
    return done.stdout


def run(folder, program, *arguments, **settings):
    """The trace has exactly the events that the program prints."""
    path, what = folder / "trace", f"{pathlib.Path(program).name} {arguments} {settings}"
    expected = read_expected(record(path, program, *arguments, **settings))
    trace = trace_reader.read_trace(path)
    check(f"{what}: nothing is lost", trace.header["lost"] == 0 and not trace.skipped)
    compare(what, expected, trace)
    check_durations(what, trace)
    return trace


def test_routines(folder):
    seen = set()
    for version in ("2.1", "2.0", "1.2", "1.1"):
        trace = run(folder, CONSUMER, version)
        seen |= {event.name for event in trace.events}
    schema = trace_reader.read_schema(folder / "trace")
    calls = {name for number, (name, _) in schema.items() if name.startswith("Ndk")}
    check("every routine has been called", not calls - seen, calls - seen)


def test_pending(folder):
    trace = run(folder, CONSUMER, "2.1", ONDK_PEND_CREATES="1")
    created = [e for e in trace.events if e.name == "completed" and e.fields["created"]]
    check("pending creates: their objects", len(created) > 15, created)


def test_verified(folder):
    """The verifier calls the provider for each call of the consumer, with the object behind the consumer's proxy."""
    path = folder / "trace"
    expected = read_expected(record(path, CONSUMER, ONDK_VERIFY="report"))
    events = trace_reader.read_trace(path).events
    proxies = {}
    for event in events:
        if event.name == "proxy":
            proxies.setdefault(event.fields["proxy"], set()).add(event.fields["object"])
    called = {(event.name, event.fields["object"]) for event in events if is_call(event.name)}
    for name, fields in (line for lines in expected.values() for line in lines):
        objects = proxies.get(int(fields["object"], 0), set())
        check(f"verified: {name}", name == "callback_returned" or any((name, o) in called for o in objects),
              (fields, objects))
    check("verified: a proxy for each object", {e.fields["created"] for e in events if e.fields.get("created")} <=
          set.union(*proxies.values()))


def test_foreign(folder):
    for version in ("2.1", "2.0", "1.2", "1.1"):
        run(folder, FOREIGN, version)
    for case in ("changed-table", "replaced", "wrapped", "inline", "no-routines", "close-inside", "lists"):
        run(folder, FOREIGN, case)
    events = [e.name for e in run(folder, FOREIGN, "many-tables").events]
    check("many tables", events.count("untraced") == 4, events)
    events = [e.name for e in run(folder, FOREIGN, "two-opens").events]
    check("two opens", events.count("adapter") == 2 and events.count("adapter_close") == 2, events)
    record(folder / "trace", FOREIGN, "leak")


def test_fork(folder):
    expected = read_expected(record(folder / "trace.%p", FOREIGN, "fork"))
    for path in folder.iterdir():
        process = int(path.suffix[1:])
        compare(f"process {process}", {process: expected.pop(process)}, trace_reader.read_trace(path))
    check("both processes have a trace", not expected, expected)


def test_off(_folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    for command in ([CONSUMER], [FOREIGN, "off"]):
        done = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, timeout=250, check=False)
        check(f"without a trace: {command}", done.returncode == 0, done)


for test_name, test in list(globals().items()):
    if test_name.startswith("test_"):
        with tempfile.TemporaryDirectory() as directory:
            test(pathlib.Path(directory))
sys.exit(1 if FAILED else 0)
