#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Payload in traces: both ends record the same bytes, and Wireshark dissects the protocols in them.

usage: payload_test.py NDKTRACE NDKPERF
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import trace_maker

NDKTRACE, NDKPERF = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
ADDRESS, FRAMES = "127.0.0.1:50230", ("tagged", "untagged")
OTHER = {"sent": "received", "received": "sent"}
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


def record(path, payload, crc, *options):
    """Runs both ends of ndkperf. Returns their trace files."""
    files = [path / end for end in ("server", "client")]
    traced = [[NDKTRACE, "run", "-o", str(file), "--size", "8", *payload, "--", NDKPERF] for file in files]
    server = subprocess.Popen([*traced[0], "server", "--address", ADDRESS, "--crc", crc], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    check("the server listens", "listen" in server.stdout.readline())
    run(*traced[1], "client", "--address", ADDRESS, "--crc", crc, "--check", "--warmup", "0", "-n", "5", *options)
    output = server.communicate(timeout=120)
    check("the server ends well", server.returncode == 0, output)
    return files


def frames(file):
    """{(connection, direction): [fields]}"""
    found = {}
    for line in run(NDKTRACE, "show", "--json", "-e", ",".join(FRAMES), file).splitlines():
        event = json.loads(line)
        found.setdefault((event["connection"], event["fields"].pop("direction")), []).append(event["fields"])
    return found


def test_both_ends(path):
    """What one end has sent is what the other one has received, in each form that frames of a program have."""
    for crc, payload, options in (("on", 64000, ("--test", "write", "-s", "100001")),
                                  ("off", 64000, ("--test", "write", "-s", "300000")),
                                  ("on", 64000, ("--test", "read", "-s", "100000")),
                                  ("off", 70, ("--test", "read", "-s", "100000")),
                                  ("on", 64000, ("--test", "send", "-s", "7"))):
        files = record(path, ("--payload", str(payload)), crc, *options)
        server, client = map(frames, files)
        server = {(connection, OTHER[direction]): seen for (connection, direction), seen in server.items()}
        what = f"{options}, CRC {crc}"
        check(f"{what}: connections", client and server.keys() == client.keys(), (server.keys(), client.keys()))
        for key, seen in client.items():
            check(f"{what}: the same frames", server.get(key) == seen)
            for f in seen:
                size = min(f["payload"], payload if f["opcode"] not in ("read-request", "terminate") else 64000)
                check(f"{what}: so many bytes", len(f["bytes"]) == 2 * size, (len(f["bytes"]), f))


# ---- traces that were made for it ----

# The first messages of SMB Direct.
NEGOTIATE = struct.pack("<HHHHIII", 0x100, 0x100, 0, 10, 1364, 8192, 1 << 20)
NEGOTIATED = struct.pack("<HHHHHHIIIII", 0x100, 0x100, 0x100, 0, 9, 9, 0, 1 << 20, 1364, 8192, 1 << 20)
READ = struct.pack(">IQIIQ", 5, 0x2000, 9000, 6, 0x3000)


def mpa(maker, event, at, frame, private=b""):
    key = b"MPA ID Req Frame" if frame == "request" else b"MPA ID Rep Frame"
    flags = 0x60 if frame == "reject" else 0x40
    maker.add(event, at, 1, frame=frame, revision=1, crc=1, data_size=len(private),
              bytes=key + struct.pack(">BBH", flags, 1, len(private)) + private)


def segment(maker, at, direction, opcode, data, **values):
    tagged = opcode in ("write", "read-response")
    numbers = ["write", "read-request", "read-response", "send", "send-invalidate"]
    last = values.get("last", 1)
    control = (0x8100 if tagged else 0x0100) | last << 14 | 0x40 | numbers.index(opcode)
    maker.add("tagged" if tagged else "untagged", at, 1, direction=direction, opcode=opcode, control=control,
              **{"crc": "good", "payload": len(data), "last": last, **values}, bytes=data)


def made_trace(path, schema, host="192.0.2.{}", private=b"private"):
    maker = trace_maker.Maker(schema)
    maker.add("adapter", 0, interface=1, name=b"eth0")
    maker.add("connection", 1, 1, role="initiated", interface=1, local=f"{host.format(1)}:50000",
              remote=f"{host.format(2)}:5445")
    mpa(maker, "mpa_sent", 2, "request", private)
    mpa(maker, "mpa_received", 3, "accept", b"answer")
    segment(maker, 4, "sent", "send", NEGOTIATE, msn=1)
    segment(maker, 5, "received", "send", NEGOTIATED, msn=1)
    segment(maker, 6, "received", "read-request", READ, queue=1, msn=1)
    segment(maker, 7, "sent", "read-response", bytes(5000), stag=5, to=0x2000, last=0)
    segment(maker, 8, "sent", "read-response", bytes(4000), stag=5, to=0x2000 + 5000)
    segment(maker, 9, "sent", "write", b"a" * 3000, stag=7, to=0x100, last=0)
    segment(maker, 10, "sent", "write", b"b" * 3000, stag=7, to=0x100 + 3000, last=0)
    segment(maker, 11, "sent", "write", b"c" * 3000, stag=7, to=0x100 + 6000)
    segment(maker, 12, "received", "send-invalidate", b"d" * 10, msn=2, stag=9)
    maker.add("outcome", 13, 1, outcome="ended", phase="established", why="peer-closed", terminate="none")
    maker.write(path)


def capture(path, *options):
    run(NDKTRACE, "pcap", "-o", path.with_name("out.pcapng"), *options, path)
    return path.with_name("out.pcapng")


def tshark(file, *fields):
    """Heuristics come first, because Wireshark has another dissector for port 5445."""
    out = run("tshark", "-r", file, "-o", "tcp.try_heuristic_first:TRUE", "-T", "fields",
              *(word for field in fields for word in ("-e", field)))
    return [line.split("\t") for line in out.splitlines()]


def experts(file):
    """What Wireshark finds wrong. Its dissector of RPC over RDMA takes any short Send for its own."""
    out = run("tshark", "-r", file, "--disable-protocol", "rpcordma", "-q", "-z", "expert,warn")
    return set(re.findall(r"^ +\d+ +\S+ +\S+  (.*)$", out, re.M))


def icrc(packet):
    """The invariant CRC of a RoCE v2 packet over IPv4, from its definition (InfiniBand, Annex A17)."""
    masked = bytearray(b"\xff" * 8 + packet[14:-4])
    for at in (8 + 1, 8 + 8, 8 + 10, 8 + 11, 8 + 20 + 6, 8 + 20 + 7, 8 + 20 + 8 + 4):
        masked[at] = 0xff
    return struct.pack("<I", zlib.crc32(masked))


def packets_of(capture_file):
    """The packets of a pcapng file."""
    data, at, found = capture_file.read_bytes(), 0, []
    while at < len(data):
        kind, size, captured = struct.unpack("<II12xI", data[at:at + 24])
        if kind == 6:
            found.append(data[at + 28:at + 28 + captured])
        at += size
    return found


def comments_of(capture_file):
    """The comments of packets in a pcapng file."""
    data, at, found = capture_file.read_bytes(), 0, []
    while at < len(data):
        kind, size, captured = struct.unpack("<II12xI", data[at:at + 24])
        options = at + 28 + (captured + 3 & ~3)
        if kind == 6 and options < at + size - 4:
            code, length = struct.unpack("<HH", data[options:options + 4])
            found += [data[options + 4:options + 4 + length]] if code == 1 else []
        at += size
    return found


def test_dissected(path):
    """Without --payload, nothing but control messages is recorded. SMB Direct is found in iWARP and in RoCE."""
    for fields in frames(record(path, (), "on", "--test", "write", "-s", "5000")[1]).values():
        check("no payload", all(not f["bytes"] or f["opcode"] == "read-request" for f in fields), fields)
    if not shutil.which("tshark"):
        print("tshark is missing: captures are not tested")
        return
    schema = trace_maker.schema_of(path / "client")
    made_trace(path / "made", schema)
    rows = [row[0] for row in tshark(capture(path / "made"), "_ws.col.Info")]
    check("SMB Direct over iWARP", "NegotiateRequest" in rows and "NegotiateResponse" in rows, rows)
    check("nothing is wrong in the capture of TCP", not experts(path / "out.pcapng"), experts(path / "out.pcapng"))
    roce(path, schema)
    bad_crc(path, schema)
    made_trace(path / "made", schema, "[2001:db8::{}]", bytes(300))
    rows = tshark(capture(path / "made", "--roce"), "infiniband.bth.opcode", "ipv6.src")
    check("RoCE over IPv6", [r[1] for r in rows[:2]] == ["2001:db8::1", "2001:db8::2"] and len(rows) == 13, rows)


def bad_crc(path, schema):
    """An FPDU with a bad CRC makes packets with a bad invariant CRC and a comment. The others stay good."""
    maker = trace_maker.Maker(schema)
    maker.add("connection", 1, 1, role="initiated", interface=1, local="192.0.2.1:50000", remote="192.0.2.2:5445")
    mpa(maker, "mpa_sent", 2, "request")
    mpa(maker, "mpa_received", 3, "accept")
    segment(maker, 4, "received", "send", b"a" * 10, msn=1)
    segment(maker, 5, "received", "write", b"b" * 3000, stag=7, to=0x100, last=0)
    segment(maker, 6, "received", "write", b"c" * 3000, stag=7, to=0x100 + 3000, crc="bad")
    maker.add("outcome", 7, 1, outcome="ended", phase="established", why="peer-closed", terminate="none")
    maker.write(path / "made")
    packets, comments = packets_of(capture(path / "made", "--roce")), comments_of(path / "out.pcapng")
    wrong = [bytes(a ^ b for a, b in zip(packet[-4:], icrc(packet))) for packet in packets]
    check("a bad CRC: the invariant CRCs", wrong == [bytes(4)] * 4 + [b"\1\0\0\0"] * 2, wrong)
    check("a bad CRC: the comments", [c[:32] for c in comments] == [b"the CRC of the FPDU is bad"] +
          [b"the CRC of the FPDU is bad; connection 1: ended"[:32]], comments)


def roce(path, schema):
    rows = tshark(capture(path / "made", "--roce"), "infiniband.bth.opcode", "infiniband.bth.psn",
                  "infiniband.reth.dmalen", "frame.len", "frame.cap_len", "_ws.col.Info")
    # 100: start-up; 4, 23: send; 12: read request; 13, 14, 15: its response; 6, 7, 8: write
    check("packets", [int(r[0], 0) for r in rows] == [100, 100, 100, 4, 4, 12, 13, 14, 15, 6, 7, 8, 23], rows)
    check("sequence numbers", [int(r[1], 0) for r in rows[3:]] == [0, 0, 1, 1, 2, 3, 1, 2, 3, 4], rows)
    check("lengths of read and write", (rows[5][2], rows[9][2]) == ("9000", "9000"), rows)
    check("SMB Direct over RoCE", rows[3][5].endswith("NegotiateRequest") and rows[4][5].endswith("NegotiateResponse"),
          rows)
    check("no expert item of RoCE", not experts(path / "out.pcapng"), experts(path / "out.pcapng"))
    packets = packets_of(path / "out.pcapng")
    check("private data", b"private" in packets[0] and b"answer" in packets[1], packets[:2])
    for number, packet in enumerate(packets):
        check("invariant CRC", packet[-4:] == icrc(packet), (number, packet[-4:], icrc(packet)))
    check("all packets are whole", len(packets) == len(rows) and all(r[3] == r[4] for r in rows), rows)
    text = "\n".join(line.replace(" bytes:bytes", "") if " tagged " in line else line for line in schema.splitlines())
    maker = trace_maker.Maker(text + "\n")
    maker.add("connection", 1, 1, role="accepted", interface=1, local="192.0.2.2:5445", remote="192.0.2.1:50000")
    mpa(maker, "mpa_received", 2, "request")
    mpa(maker, "mpa_sent", 3, "accept")
    maker.add("tagged", 4, 1, direction="sent", opcode="write", payload=9000, last=1, control=0x8140)
    maker.write(path / "old")
    rows = tshark(capture(path / "old", "--roce"), "infiniband.bth.opcode", "frame.len", "frame.cap_len")
    check("a trace without payload: large packets are truncated, the small one has zeros",
          [int(r[1]) - int(r[2]) for r in rows[3:]] == [4100, 4100, 0], rows)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory() as directory:
            test(pathlib.Path(directory))
sys.exit(1 if failed else 0)
