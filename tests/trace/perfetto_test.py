#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndktrace perfetto: the file keeps the rules of the JSON trace event format, and has everything that the traces have.

usage: perfetto_test.py NDKTRACE NDKPERF
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import trace_maker

NDKTRACE, NDKPERF = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
FRAMES = ("tagged", "untagged", "no_segment", "mpa_sent", "mpa_received")
failed = []


def check(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{str(seen)[:2000]}", flush=True)


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False, env=ENVIRONMENT)
    check(f"{command[:3]}", done.returncode == 0, done.stderr)
    return done.stdout


def show(*files):
    return [json.loads(line) for line in run(NDKTRACE, "show", "--json", *files).splitlines()]


def perfetto(*files):
    """The events of the file, which keeps the format's rules."""
    document = json.loads(run(NDKTRACE, "perfetto", "-o", "-", *files))
    events = document["traceEvents"]
    check("the document", document["displayTimeUnit"] == "ns" and set(document) == {"displayTimeUnit", "traceEvents"})
    check_events(events)
    check_slices(events)
    check_flows(events)
    check_counters(events)
    check_names(events)
    return events


def check_events(events):
    for event in events:
        good = event["ph"] in "BEXiCM" and event["ts"] >= 0 and event["pid"] > 0 and event["tid"] > 0
        good = good and (event["ph"] == "E") == ("name" not in event) and isinstance(event.get("args", {}), dict)
        good = good and (event["ph"] != "X" or event["dur"] >= 0) and (event["ph"] != "i" or event["s"] == "t")
        check("an event's members", good, event)


def check_slices(events):
    """Slices of a track are nested and ended, and times do not go back."""
    stacks, last = collections.defaultdict(list), {}
    for event in events:
        track = event["pid"], event["tid"]
        if event["ph"] not in "BEXi":
            continue
        check("the order of times", event["ts"] >= last.get(track, 0), (event, last.get(track)))
        last[track] = event["ts"]
        if event["ph"] == "B":
            stacks[track].append(event)
        elif event["ph"] == "E":
            check("an end has a begin", stacks[track], event)
            check("a duration", stacks[track].pop()["ts"] <= event["ts"], event)
    check("all slices end", not any(stacks.values()), stacks)


def check_flows(events):
    """An arrow has one begin and one end, which is later."""
    ends = collections.defaultdict(list)
    for event in events:
        if "bind_id" in event:
            check("an arrow's direction", event.get("flow_out", False) != event.get("flow_in", False), event)
            check("an arrow is of a slice", event["ph"] in "BX", event)
            ends[int(event["bind_id"], 16)].append((event.get("flow_in", False), event["ts"]))
    for number, pair in ends.items():
        pair.sort()
        check("an arrow's ends", [is_in for is_in, _ in pair] == [False, True] and pair[0][1] <= pair[1][1],
              (number, pair))


def check_counters(events):
    values, last = {}, {}
    for event in events:
        if event["ph"] != "C":
            continue
        (unit, value), = event["args"].items()
        counter = event["pid"], event["name"], unit
        check("a counter is not below 0, and changes by 1", value >= 0 and abs(value - values.get(counter, 0)) == 1,
              event)
        check("a counter's times", event["ts"] >= last.get(counter, 0), event)
        values[counter], last[counter] = value, event["ts"]
    return values


def check_names(events):
    processes = [event["pid"] for event in events if event["name" if event["ph"] == "M" else "ph"] == "process_name"]
    tracks = [(event["pid"], event["tid"]) for event in events if event["ph"] == "M" and event["name"] == "thread_name"]
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] in "BEXi"}
    check("each process has one name", len(processes) == len(set(processes)), processes)
    check("each track has one name", len(tracks) == len(set(tracks)) and used <= set(tracks), used - set(tracks))
    check("each number is of one track", len({tid for _, tid in tracks}) == len(tracks), tracks)


def named(events, phase, name):
    return [event for event in events if event["ph"] == phase and event.get("name") == name]


def test_real_traces(path):
    with subprocess.Popen([NDKTRACE, "run", "-o", str(path / "server"), "--", NDKPERF, "server", "--address",
                           "127.0.0.1:50230"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=ENVIRONMENT) as server:
        server.stdout.readline()
        run(NDKTRACE, "run", "-o", path / "client", "--", NDKPERF, "client", "--address", "127.0.0.1:50230", "--test",
            "rperf", "--size", "8K", "--iterations", "100", "--warmup", "0", "--qp", "2", "--events")
        server.communicate(timeout=120)
    files = path / "client", path / "server"
    shown, events = show(*files), perfetto(*files)
    frames = [event for event in shown if event["event"] in FRAMES]
    drawn = [event for event in events if event.get("cat") == "frame"]
    check("every frame", len(drawn) == len(frames) > 500, (len(drawn), len(frames)))
    check("every frame has an arrow between the processes", all("bind_id" in event for event in drawn), drawn[:3])
    for name in ("NdkConnect", "NdkAcceptEx", "NdkSend", "NdkCreateQp", "NdkArmCq"):
        check(f"every {name}", len(named(events, "B", name)) == sum(event["event"] == name for event in shown) > 0)
    callbacks = [event for event in events if event.get("cat") == "callback"]
    check("every callback", len(callbacks) == sum(event["event"] == "callback_returned" for event in shown) > 0)
    states = [event["name"] for event in events if event.get("cat") == "state"]
    expected = [event["fields"]["to"] for event in shown if event["event"] == "state" and
                event["fields"]["to"] != "CLOSED"]
    check("every state, and those in which connections begin", sorted(states) ==
          sorted(expected + ["IDLE"] * 3 + ["WAIT_REQUEST"] * 3), states)
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]
    check("shards have names", "openndk-shard" in names, names)
    check("connections have names", sum(name.startswith("connection ") for name in names) == 6, names)
    values = check_counters(events)
    check("all requests have results, and all results were taken",
          not any(value for (_, _, unit), value in values.items() if unit != "receives outstanding"), values)
    check("counters of requests, receives and results", {unit for _, _, unit in values} ==
          {"requests outstanding", "receives outstanding", "results waiting"}, values)
    connect = named(events, "B", "NdkConnect")[0]
    done = [event for event in named(events, "B", "completion of NdkConnect")
            if event.get("bind_id") == connect["bind_id"]]
    check("an arrow from a call to its completion", connect["flow_out"] and len(done) == 1 and done[0]["flow_in"], done)


def test_output(path):
    target = path / "out.json"
    run(NDKTRACE, "perfetto", "-o", target, path / "client")
    check("a file", json.loads(target.read_text())["traceEvents"])
    done = subprocess.run([NDKTRACE, "perfetto", "-o", path / "client", path / "server"], check=False,
                          stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    check("a trace is not overwritten", done.returncode == 1 and "not overwritten" in done.stderr, done)


def test_unfinished(path):
    """Calls and states that have not ended, two processes with the same numbers, and names with quotes."""
    schema = trace_maker.schema_of(path / "client")
    for pid, host in ((1, "one"), (2, "two")):
        maker = trace_maker.Maker(schema, pid=1, host=host, program='a "program"\\')
        maker.add("NdkCloseCq", 1000, object=1)
        maker.add("connection", 2000, 1, role="initiated", local="192.0.2.1:50000", remote="192.0.2.2:7000")
        maker.add("state", 3000, 1, **{"from": "IDLE"}, event="start", to="TCP_CONNECTING")
        maker.write(path / f"made{pid}")
    events = perfetto(path / "made1", path / "made2")
    check("two processes and four tracks", len({event["pid"] for event in events}) == 2 and
          len({(event["pid"], event["tid"]) for event in events if event["ph"] == "B"}) == 4, events)
    check("names are escaped", events[0]["args"]["name"] == 'a "program"\\, process 1 on one', events[0])
    check("times", named(events, "B", "TCP_CONNECTING")[0]["ts"] == 3, events)


def test_drivers(path):
    """Calls of drivers are slices; an event without a return is an instant."""
    names = "names kernel_routine 205=IoAllocateIrp 207=IoCallDriver 208=IoCompleteRequest\n"
    maker = trace_maker.Maker(names + trace_maker.schema_of(path / "client"))
    maker.add("IoAllocateIrp", 1000, object=1)
    maker.add("IoCallDriver", 2000, object=1)
    maker.add("IoCompleteRequest", 3000, object=1)
    maker.add("kernel_done", 4000, object=1, routine="IoCompleteRequest")
    maker.add("kernel_returned", 5000, object=1, routine="IoCallDriver", status="STATUS_PENDING")
    maker.write(path / "driver")
    events = [event for event in perfetto(path / "driver") if event["ph"] != "M"]
    check("a driver's calls", [(event["ph"], event.get("name"), event["ts"]) for event in events] ==
          [("i", "IoAllocateIrp", 1), ("B", "IoCallDriver", 2), ("B", "IoCompleteRequest", 3), ("E", None, 4),
           ("E", None, 5)], events)


with tempfile.TemporaryDirectory() as directory:
    for test in (test_real_traces, test_output, test_unfinished, test_drivers):
        test(pathlib.Path(directory))
sys.exit(1 if failed else 0)
