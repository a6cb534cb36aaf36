#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndktrace show: the connections of calls and callbacks are those of the provider's own events.

usage: owners_test.py NDKTRACE CALL_CONSUMER
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NDKTRACE, CONSUMER = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
FAILED = []


def check(what, good, seen=""):
    if not good:
        FAILED.append(what)
        print(f"FAILED: {what}\n{seen}", flush=True)


def show(path, *options):
    done = subprocess.run([NDKTRACE, "show", "--json", *map(str, options), path], env=ENVIRONMENT, text=True,
                          stdout=subprocess.PIPE, timeout=250, check=False)
    check(f"show {options}", done.returncode == 0)
    return [json.loads(line) for line in done.stdout.splitlines()]


def record(path, **settings):
    path.unlink(missing_ok=True)
    done = subprocess.run([CONSUMER], env=dict(ENVIRONMENT, ONDK_TRACE=str(path), **settings), timeout=250, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check(f"{settings}: ends well", done.returncode == 0)


def check_inside(events):
    """What the provider records on a thread during a call that sends is about the call's connection."""
    sent = {"NdkSend": "send", "NdkWrite": "write", "NdkRead": "read-request"}
    for i, event in enumerate(events):
        opcode = sent.get(event["event"])
        inside = [e for e in events[:i] if e["thread"] == event["thread"] and e["fields"].get("opcode") == opcode and
                  e["fields"].get("direction") == "sent" and
                  e["time_ns"] >= event["time_ns"] - event["fields"].get("duration", 0)]
        for e in inside if opcode else (): # none if another thread has transmitted
            check(f"{event['event']}: its connection", e["connection"] == event["connection"], (e, event))


def check_connectors(events):
    """The connector of each call and callback is the one that an event of the provider has named last."""
    connections, compared = {}, 0
    for event in events:
        fields, name = event["fields"], event["event"]
        if name in ("connection", "connector") and int(fields["object"], 16):
            connections[fields["object"]] = event["connection"]
        elif name in ("NdkAccept", "NdkAcceptEx", "NdkCompleteConnect", "NdkCompleteConnectEx", "NdkDisconnect",
                      "NdkGetPeerAddress", "NdkReject", "NdkCloseConnector", "disconnect_event"):
            compared += 1
            check(f"{name}: its connection", event["connection"] == connections[fields["object"]], event)
        elif name == "connect_event":
            compared += 1
            check(f"{name}: its connection", event["connection"] == connections[fields["connector"]], event)
    return compared


def check_queue_pairs(events):
    """The calls on a queue pair, and its results, have the connection of the call that connects it."""
    pairs, of_context, lives = {}, {}, collections.defaultdict(list)
    for event in events:
        fields, name = event["fields"], event["event"]
        if name.startswith("NdkCreateQp"):
            context = fields["qp_context"]
        if str(fields.get("routine", "")).startswith("NdkCreateQp") and int(fields["created"], 16):
            pairs[fields["created"]] = of_context[context] = lives[len(lives)]
        elif fields.get("object") in pairs or fields.get("qp") in pairs:
            pair = pairs[fields.get("qp") if fields.get("qp") in pairs else fields["object"]]
            pair.append(event)
            if name == "callback_returned" and [e for e in pair if e["event"] == "completed"]:
                del pairs[fields["object"]]
        elif name == "result":
            of_context[fields["qp_context"]].append(event)
    for number, life in lives.items():
        ids = {e["connection"] for e in life}
        check(f"queue pair {number}: one connection", len(ids) == 1 and (None not in ids or len(life) < 8), life)
    return len(lives)


def test_connections(path, **settings):
    record(path, **settings)
    events = show(path)
    check_inside(events)
    counts = check_connectors(events), check_queue_pairs(events)
    check(f"{settings}: what was compared", counts[0] >= 20 and counts[1] == 5, counts)
    names = {e["event"] for e in events if e["connection"] == 1}
    for name in ("NdkReceive", "NdkConnect", "returned", "completed", "callback_returned", "NdkCompleteConnect",
                 "NdkSend",
                 "result", "NdkFlush", "NdkCloseQp", "NdkCloseConnector", "NdkGetConnectionData"):
        check(f"{settings}: {name} of connection 1", name in names, names)
    for name in ("NdkCreatePd", "NdkRegisterMr", "NdkListen", "NdkSrqReceive", "NdkArmCq", "cq_notification"):
        check(f"{settings}: {name} of no connection", {e["connection"] for e in events if e["event"] == name} == {None})
    check(f"{settings}: -c", show(path, "-c", 1) == [e for e in events if e["connection"] == 1])


def test_names(path):
    record(path)
    events = show(path, "-e", "NdkConnect")
    check("-e of a call", collections.Counter(e["event"] for e in events) ==
          {"NdkConnect": 2, "returned": 2, "completed": 2}, events)
    failed = show(path, "--value", "STATUS_CONNECTION_REFUSED")
    check("--value of a status", [(e["event"], e["fields"]["routine"]) for e in failed] ==
          [("completed", "NdkConnectWithSharedEndpoint")], failed)


def test_objects(path):
    record(path, ONDK_VERIFY="report")
    proxies = {e["fields"]["object"]: e["fields"]["proxy"] for e in show(path, "-e", "proxy")}
    connector = [e["fields"]["object"] for e in show(path, "-e", "NdkCompleteConnect") if "object" in e["fields"]][0]
    by_object, by_proxy = show(path, "-O", connector), show(path, "-O", proxies[connector])
    check("-O of a proxy", by_object == by_proxy and len(by_object) > 20, (len(by_object), len(by_proxy)))


with tempfile.TemporaryDirectory() as directory:
    file = pathlib.Path(directory) / "trace"
    test_connections(file)
    test_connections(file, ONDK_PEND_CREATES="1")
    test_names(file)
    test_objects(file)
sys.exit(1 if FAILED else 0)
