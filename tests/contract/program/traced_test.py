#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs ndkconform with ONDK_TRACE: the results are those without it, and the traces are complete.

usage: traced_test.py NDKCONFORM [ARGUMENT...]
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "trace"))
import trace_reader  # noqa: E402

RESULT = re.compile(r"(\w+(?: \(IPv[46]\))?): (passed|FAILED|skipped)", re.M)
CALLBACKS = ("completed", "cq_notification", "srq_notification", "connect_event", "disconnect_event")
failures = 0
counts = collections.Counter()


def check(what, good, seen=""):
    global failures
    if not good:
        failures += 1
        print(f"FAILED: {what}\n{seen}")


def results_of(command, trace):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    if trace:
        env["ONDK_TRACE"] = f"{trace}/%p,4M"
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(f"{command}: exit status", done.returncode == 0, done.stdout[-3000:])
    check(f"{command}: no trouble with the trace", "ONDK_TRACE" not in done.stdout, done.stdout[-3000:])
    return dict(RESULT.findall(done.stdout))


def check_nesting(what, events):
    """Calls and callbacks of a thread end in the reverse order of their beginnings."""
    begun = []
    for event in events:
        if event.name in ("returned", "callback_returned"):
            check(f"{what}: something returns that has begun", begun, event)
            first = begun.pop() if begun else event
            check(f"{what}: what returns is the latest", first.fields["object"] == event.fields["object"] and
                  (event.name == "callback_returned") == (first.name in CALLBACKS), (first, event))
        elif event.name in CALLBACKS or event.name.startswith("Ndk") and "duration" not in event.fields:
            begun.append(event)
    return begun


def check_completions(what, trace):
    """Each pending call completes once, and no other call."""
    def keys(name, status):
        return collections.Counter((e.fields["routine"], e.fields["object"], e.fields["context"]) for e in trace.events
                                   if e.name == name and (not status or e.fields["status"] == status))

    pending, completed = keys("returned", "STATUS_PENDING"), keys("completed", "")
    check(f"{what}: only pending calls complete", not completed - pending, completed - pending)
    counts["pending"] += pending.total()
    counts["completed"] += completed.total()


def check_trace(path):
    trace = trace_reader.read_trace(path)
    what = f"{path.name}"
    check(f"{what}: whole", not trace.skipped and trace.header["lost"] == 0, trace.header)
    check(f"{what}: all objects are traced", not [e for e in trace.events if e.name == "untraced"])
    counts["traces"] += 1
    if sum(len(e.fields) * 8 + 16 for e in trace.events) > 3 << 20:
        counts["overwritten"] += 1  # the beginning may be missing
        return
    threads = collections.defaultdict(list)
    for event in trace.events:
        threads[event.thread].append(event)
        counts["calls"] += event.name.startswith("Ndk")
    for thread, events in threads.items():
        check_nesting(f"{what}, thread {thread}", events)
    check_completions(what, trace)


def main():
    command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        plain, traced = results_of(command, None), results_of(command, folder)
        check("the same results", plain == traced and plain,
              [(k, plain.get(k), traced.get(k)) for k in plain | traced if plain.get(k) != traced.get(k)])
        for path in pathlib.Path(folder).iterdir():
            check_trace(path)
    check("calls were recorded", counts["calls"] > 10 * len(plain), counts)
    check("nearly all pending calls completed", counts["completed"] > 0.9 * counts["pending"], counts)
    print(f"{len(plain)} cases, {dict(counts)}, {failures} failures")
    return failures != 0


sys.exit(main())
