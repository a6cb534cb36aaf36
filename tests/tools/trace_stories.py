# SPDX-License-Identifier: MIT
"""Traces of connections that are told event by event, for tests of what ndktrace draws. All are of two hosts."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "trace"))
import trace_maker

US, MS, S = 10**3, 10**6, 10**9
CLIENT, SERVER = "10.0.0.1:49152", "10.0.0.2:7174"
REQUEST = b"MPA ID Req Frame\xc0\x02\x00\x04name"
FRAME = {"revision": 2, "crc": 1, "enhanced": 1, "ird": 8, "ord": 8, "ready": "empty-fpdu,write,read", "data_size": 4,
         "bytes": REQUEST}
STATUSES = {"STATUS_SUCCESS": 0, "STATUS_PENDING": 0x103, "STATUS_IO_TIMEOUT": 0xC00000B5}


def with_call_names(schema):
    """The schema with names for calls and statuses, if the library that wrote it has none."""
    calls = re.findall(r"^event (\d+) (Ndk\w+)", schema, re.M)
    lists = {"routine": calls, "status": [(number, name) for name, number in STATUSES.items()],
             "operation": [(1, "receive"), (3, "send")]}
    lines = ["names " + name + "".join(f" {value}={text}" for value, text in values)
             for name, values in lists.items() if not re.search(f"^names {name} ", schema, re.M)]
    return "".join(line + "\n" for line in lines) + schema


class Story:
    """
    The traces of two processes. A time counts from the same moment for both; the second clock is ahead by `ahead`.
    """

    def __init__(self, schema, ahead=0):
        schema = with_call_names(schema)
        self.client = trace_maker.Maker(schema, pid=100, host="alpha", program="backup")
        self.server = trace_maker.Maker(schema, pid=200, host="beta", program="store", realtime_ns=10**18 + ahead,
                                        monotonic_ns=5 * 10**12)
        for side in (self.client, self.server):
            side.threads = {1: b"main", 2: b"openndk-shard"}

    @staticmethod
    def at(side, thread, event, time_ns, connection=0, /, **values):
        side.thread = thread
        side.add(event, time_ns, connection, **values)

    def call(self, side, name, time_ns, status="STATUS_SUCCESS", took=2 * US, created=0, **values):
        """A call that returns at once."""
        self.at(side, 1, name, time_ns, **values)
        self.at(side, 1, "returned", time_ns + took, object=values["object"], routine=name, status=status,
                created=created, duration=took)

    def frame(self, sender, event, time_ns, took, connection=1, thread=2, receiver=None, **values):
        """A frame that is sent and received. receiver: None for the other side, False if it does not arrive."""
        other = self.server if sender is self.client else self.client
        startup = event == "mpa"
        sent, received = ("mpa_sent", "mpa_received") if startup else (event, event)
        self.at(sender, thread, sent, time_ns, connection, **values, **({} if startup else {"direction": "sent"}))
        if receiver is not False:
            self.at(other, 2, received, time_ns + took, connection, **values,
                    **({} if startup else {"direction": "received"}))

    def begin(self, time_ns, connection=1, client=CLIENT):
        self.at(self.client, 1, "connection", time_ns, connection, role="initiated", object=0x4000 + connection,
                interface=2, local=client, remote=SERVER)
        self.state(self.client, time_ns + US, "IDLE", "start", "TCP_CONNECTING", connection, thread=1, limit=10000)
        self.at(self.server, 2, "connection", time_ns + 60 * US, connection, role="accepted", interface=2, local=SERVER,
                remote=client)
        self.at(self.server, 2, "limit", time_ns + 61 * US, connection, state="WAIT_REQUEST", ms=5000)
        self.frame(self.client, "mpa", time_ns + 100 * US, 50 * US, connection, frame="request", **FRAME)
        self.state(self.client, time_ns + 101 * US, "TCP_CONNECTING", "tcp-up", "REQUEST_SENT", connection, limit=10000)
        self.state(self.server, time_ns + 151 * US, "WAIT_REQUEST", "request", "REQUESTED", connection)
        self.at(self.server, 2, "connector", time_ns + 152 * US, connection, object=0x9100 + connection)

    def state(self, side, time_ns, before, event, after, connection=1, thread=2, limit=0, why="ok"):
        self.at(side, thread, "state", time_ns, connection, **{"from": before}, event=event, to=after, why=why)
        if limit:
            self.at(side, thread, "limit", time_ns, connection, state=after, ms=limit)

    def outcome(self, side, time_ns, outcome, phase, why="ok", connection=1, terminate="none"):
        self.at(side, 2, "outcome", time_ns, connection, outcome=outcome, phase=phase, why=why, terminate=terminate)

    def establish(self, time_ns, connection=1):
        """Goes on 200 us after `begin`."""
        self.state(self.server, time_ns, "REQUESTED", "accept", "REPLYING", connection, thread=1)
        self.frame(self.server, "mpa", time_ns + 10 * US, 50 * US, connection, frame="accept", **FRAME)
        self.state(self.server, time_ns + 11 * US, "REPLYING", "reply-sent", "WAIT_RTR", connection)
        self.state(self.client, time_ns + 61 * US, "REQUEST_SENT", "accepted", "REPLIED", connection)
        self.state(self.client, time_ns + 80 * US, "REPLIED", "complete", "COMPLETING", connection, thread=1)
        self.frame(self.client, "no_segment", time_ns + 90 * US, 50 * US, connection, length=0, crc="good")
        self.state(self.client, time_ns + 91 * US, "COMPLETING", "up", "ESTABLISHED", connection)
        self.outcome(self.client, time_ns + 92 * US, "established", "completing", connection=connection)
        self.state(self.server, time_ns + 141 * US, "WAIT_RTR", "up", "ESTABLISHED", connection)
        self.outcome(self.server, time_ns + 142 * US, "established", "accepting", connection=connection)

    def end(self, time_ns, connection=1):
        self.outcome(self.client, time_ns, "ended", "disconnecting", "local-disconnect", connection)
        self.outcome(self.server, time_ns + 50 * US, "ended", "disconnecting", "peer-closed", connection)

    def send(self, side, time_ns, number, connection=1, took=40 * US, size=100, **values):
        self.frame(side, "untagged", time_ns, took, connection, opcode="send", msn=number, payload=size, last=1,
                   crc="good",
                   **values)

    def write(self, path):
        self.client.write(path / "client")
        self.server.write(path / "server")
        return path / "client", path / "server"


def unanswered(schema, ahead=3 * S):
    """The server's program does not answer the request; the client's time limit passes. With the calls of both."""
    story, start, gap = Story(schema, ahead), MS, 10 * S
    client, server, at = story.client, story.server, story.at
    story.call(server, "NdkListen", start - 900 * US, object=0x9000, local=SERVER)
    at(server, 1, "listening", start - 800 * US, object=0x9000, interface=2, local=SERVER)
    at(client, 1, "adapter", start - 400 * US, object=0x500, interface=2, name=b"eth0", major=2, minor=1)
    story.call(client, "NdkCreateCq", start - 300 * US, created=0x2000, object=0x500, depth=64)
    story.call(client, "NdkCreateQp", start - 200 * US, created=0x3000, object=0x1000, receive_cq=0x2000,
               initiator_cq=0x2000, qp_context=7)
    at(client, 1, "NdkConnect", start - 3 * US, object=0x4001, qp=0x3000, local=CLIENT, remote=SERVER, inbound=8,
       outbound=8, data_size=4)
    story.begin(start)
    at(client, 1, "returned", start + 3 * US, object=0x4001, routine="NdkConnect", status="STATUS_PENDING",
       duration=6 * US)
    at(server, 2, "connect_event", start + 160 * US, object=0x9000, connector=0x9101)
    at(server, 2, "callback_returned", start + 190 * US, object=0x9000, duration=30 * US)
    late = start + gap + 101 * US
    at(client, 2, "limit_expired", late, 1, state="REQUEST_SENT", why="reply-timeout")
    story.state(client, late + US, "REQUEST_SENT", "lost", "IDLE", why="reply-timeout")
    story.outcome(client, late + 2 * US, "failed", "requesting", "reply-timeout")
    at(client, 2, "completed", late + 5 * US, object=0x4001, routine="NdkConnect", status="STATUS_IO_TIMEOUT")
    at(client, 2, "callback_returned", late + 9 * US, object=0x4001, duration=4 * US)
    story.state(server, late + 60 * US, "REQUESTED", "lost", "DEAD", why="unanswered")
    story.outcome(server, late + 61 * US, "failed", "requested", "unanswered")
    return story


def traffic(schema, sends, connections=1, ahead=0):
    """Connections with messages in both directions; each tenth connection is rejected instead."""
    story = Story(schema, ahead)
    for number in range(1, connections + 1):
        start = number * 100 * US * (sends + 20)
        story.begin(start, number, f"10.0.0.1:{49151 + number}")
        if number % 10 == 0:
            story.outcome(story.server, start + 200 * US, "refused", "requested", "local-reject", number)
            story.frame(story.server, "mpa", start + 210 * US, 50 * US, number, frame="reject", **FRAME)
            story.state(story.client, start + 261 * US, "REQUEST_SENT", "rejected", "IDLE", number, why="rejected")
            story.outcome(story.client, start + 262 * US, "failed", "requesting", "rejected", number)
            continue
        story.establish(start + 200 * US, number)
        for i in range(sends):
            story.send(story.client if i % 2 else story.server, start + 400 * US + i * 50 * US, i // 2 + 1, number)
        story.end(start + 500 * US + sends * 50 * US, number)
    return story


def killed(schema):
    """The client is killed: its trace ends, and what the server sends does not arrive."""
    story, start = Story(schema), MS
    story.begin(start)
    story.establish(start + 200 * US)
    story.send(story.client, start + 500 * US, 1)
    story.send(story.server, start + 600 * US, 1)
    story.send(story.server, start + 700 * US, 2, receiver=False)
    story.state(story.server, start + 900 * US, "ESTABLISHED", "lost", "DEAD", why="peer-reset")
    story.outcome(story.server, start + 901 * US, "failed", "established", "peer-reset")
    return story


def terminated(schema):
    """A write outside of the peer's region: the peer sends a Terminate."""
    story, start = Story(schema), MS
    story.begin(start)
    story.establish(start + 200 * US)
    story.frame(story.client, "tagged", start + 500 * US, 40 * US, opcode="write", stag=0x1234, to=0x1000, payload=64,
                last=1, crc="good")
    story.frame(story.server, "untagged", start + 560 * US, 40 * US, opcode="terminate", queue=2, msn=1, payload=4,
                last=1,
                crc="good", bytes=b"\x11\x01\x00\x00")
    for side, at, direction in ((story.server, 561, "sent"), (story.client, 601, "received")):
        story.at(side, 2, "terminate", start + at * US, 1, direction=direction, layer=1, type=1, code=1,
                 name="ddp-tagged-bounds")
    story.outcome(story.server, start + 570 * US, "failed", "established", "protocol", terminate="ddp-tagged-bounds")
    story.outcome(story.client, start + 610 * US, "failed", "established", "peer-terminate",
                  terminate="ddp-tagged-bounds")
    return story


def one_process(schema):
    """A process with both ends of a connection, each on an adapter of its own, and calls that belong to neither."""
    story, start = Story(schema), MS
    maker, at = story.client, story.at
    story.server = maker
    for adapter, pd in ((0x51, 0x61), (0x52, 0x62)):
        at(maker, 1, "adapter", start - 90 * US + adapter * 100, object=adapter, interface=1, name=b"lo", major=2,
           minor=1)
        story.call(maker, "NdkCreatePd", start - 80 * US + adapter * 100, created=pd, object=adapter)
    story.call(maker, "NdkCreateConnector", start - 50 * US, created=0x41, object=0x51)
    story.call(maker, "NdkCreateListener", start - 40 * US, created=0x90, object=0x52)
    at(maker, 1, "connection", start, 1, role="initiated", object=0x41, interface=1, local=CLIENT, remote=SERVER)
    at(maker, 2, "connection", start + 50 * US, 2, role="accepted", interface=1, local=SERVER, remote=CLIENT)
    at(maker, 1, "mpa_sent", start + 60 * US, 1, frame="request", **FRAME)
    at(maker, 2, "mpa_received", start + 90 * US, 2, frame="request", **FRAME)
    at(maker, 2, "connector", start + 92 * US, 2, object=0x92)
    at(maker, 2, "connect_event", start + 93 * US, object=0x90, connector=0x92)
    at(maker, 2, "callback_returned", start + 95 * US, object=0x90, duration=2 * US)
    return maker


def posts(schema):
    """
    Posts and results with equal contexts: a send without a result, and a result that precedes the event of its post.
    """
    maker = Story(schema).client
    add = maker.add
    add("NdkReceive", 10 * US, object=0x71, context=2, bytes=1, status="STATUS_SUCCESS", duration=US)
    add("NdkSend", 20 * US, object=0x71, context=2, bytes=2, status="STATUS_SUCCESS", duration=US, flags=1)
    add("NdkSend", 30 * US, object=0x71, context=2, bytes=3, status="STATUS_SUCCESS", duration=US)
    maker.thread = 2
    add("result", 40 * US, object=0x72, context=2, status="STATUS_SUCCESS", operation=2)
    add("result", 52 * US, object=0x72, context=2, status="STATUS_SUCCESS", operation=2)
    add("result", 70 * US, object=0x72, context=2, status="STATUS_SUCCESS", operation=1)
    maker.thread = 1
    add("NdkSend", 60 * US, object=0x71, context=2, bytes=4, status="STATUS_SUCCESS", duration=10 * US)
    return maker


def schema_of(ndkping, path):
    """The schema that the library writes. ndkping fails to connect, because nobody listens."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    subprocess.run([ndkping, "-C", "-ServerAddr", "127.0.0.1:1"], env={**environment, "ONDK_TRACE": str(path)},
                   capture_output=True, check=False, timeout=120)
    return trace_maker.schema_of(path)
