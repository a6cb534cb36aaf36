#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The trace of a consumer has each of its calls and callbacks, with the values that the consumer has seen.

usage: calls_test.py CALL_CONSUMER
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import trace_reader

CONSUMER = os.path.abspath(sys.argv[1])
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


def run(folder, what, *arguments, **settings):
    path = folder / "trace"
    path.unlink(missing_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    done = subprocess.run([CONSUMER, *arguments], env=dict(env, ONDK_TRACE=str(path), **settings), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250, check=False)
    check(f"{what}: ends well", done.returncode == 0, done.stderr)
    expected, trace = read_expected(done.stdout), trace_reader.read_trace(path)
    check(f"{what}: nothing is lost", trace.header["lost"] == 0 and not trace.skipped)
    compare(what, expected, trace)
    check_durations(what, trace)
    return trace


def test_routines(folder):
    seen = set()
    for version in ("2.1", "2.0", "1.2", "1.1"):
        trace = run(folder, f"version {version}", version)
        seen |= {event.name for event in trace.events}
    schema = trace_reader.read_schema(folder / "trace")
    calls = {name for number, (name, _) in schema.items() if name.startswith("Ndk")}
    check("every routine has been called", not calls - seen, calls - seen)


def test_pending(folder):
    trace = run(folder, "pending creates", "2.1", ONDK_PEND_CREATES="1")
    created = [e for e in trace.events if e.name == "completed" and e.fields["created"]]
    check("pending creates: their objects", len(created) > 15, created)


def test_verified(folder):
    """The verifier calls the provider as the consumer does, and has calls of its own besides."""
    plain, verified = count_names(folder), count_names(folder, ONDK_VERIFY="report")
    for key, count in plain.items():
        name, routine = key
        if name != "callback_returned" and "NdkClose" not in f"{name}{routine}": # a close may pend or not
            check(f"verified: {key}", verified[key] >= count, (count, verified[key]))


def count_names(folder, **settings):
    path = folder / "trace"
    path.unlink(missing_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    done = subprocess.run([CONSUMER], env=dict(env, ONDK_TRACE=str(path), **settings), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250, check=False)
    check(f"{settings}: ends well", done.returncode == 0, done.stderr)
    return collections.Counter((e.name, e.fields.get("routine")) for e in trace_reader.read_trace(path).events
                               if is_call(e.name))


def test_off(_folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    done = subprocess.run([CONSUMER], env=env, stdout=subprocess.DEVNULL, timeout=250, check=False)
    check("without a trace", done.returncode == 0)


for test_name, test in list(globals().items()):
    if test_name.startswith("test_"):
        with tempfile.TemporaryDirectory() as directory:
            test(pathlib.Path(directory))
sys.exit(1 if FAILED else 0)
