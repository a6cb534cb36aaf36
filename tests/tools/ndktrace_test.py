#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndktrace: what it shows of connections that succeed and fail, filters, files that are damaged or in use, captures.

usage: ndktrace_test.py NDKTRACE NDKPING
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

NDKTRACE, NDKPING = (os.path.abspath(path) for path in sys.argv[1:3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
failed = []
next_port = 50300


def check(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{seen}", flush=True)


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False, env=ENVIRONMENT)
    return done.returncode, done.stdout, done.stderr


def show(*arguments):
    """The events as JSON objects."""
    code, out, err = run(NDKTRACE, "show", "--json", *arguments)
    check(f"show {arguments}", code == 0, (code, err))
    return [json.loads(line) for line in out.splitlines()]


def fields(events, name):
    return [event["fields"] for event in events if event["event"] == name]


class Server:
    """ndkping -S under ndktrace run, from the moment when it listens."""

    def __init__(self, file, *options):
        global next_port
        next_port += 1
        self.port, self.file = next_port, file
        self.process = subprocess.Popen(
            [NDKTRACE, "run", "-o", str(file), "--", NDKPING, "-S", "-ServerAddr", f"127.0.0.1:{self.port}", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, process_group=0)
        line = self.process.stdout.readline()
        check("the server listens", line.startswith("listening"), line)

    def end(self):
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err

    def stop(self):
        os.killpg(self.process.pid, signal.SIGINT)
        return self.end()


def client(file, port, *options):
    return run(NDKTRACE, "run", "--output", file, "--", NDKPING, "-C", "-ServerAddr", f"127.0.0.1:{port}", "--count",
               "1", *options)


def states(events):
    return [step["to"] for step in fields(events, "state")]


def test_success(path):
    server = Server(path / "server", "--count", "1")
    code, _, err = client(path / "client.%p", server.port)
    check("the client's status", code == 0, err)
    check("run names the file", err.startswith(f"ndktrace: ndktrace show {path}/client."), err)
    check("the server's status", server.end()[0] == 0)
    file = next(path.glob("client.*"))
    ours, theirs = show(file), show(path / "server")
    check("initiator's states", states(ours) == ["TCP_CONNECTING", "REQUEST_SENT", "REPLIED", "COMPLETING",
          "ESTABLISHED", "DRAINING", "NOTICE_SENT", "DEAD", "CLOSED"], states(ours))
    check("responder's states", states(theirs)[:4] == ["REQUESTED", "REPLYING", "WAIT_RTR", "ESTABLISHED"],
          states(theirs))
    begin, accepted = fields(ours, "connection")[0], fields(theirs, "connection")[0]
    check("both sides' addresses", begin["local"] == accepted["remote"] and begin["remote"] == accepted["local"] ==
          f"127.0.0.1:{server.port}" and begin["role"] == "initiated" and accepted["role"] == "accepted", begin)
    check("the frames are the same", fields(ours, "mpa_sent") == fields(theirs, "mpa_received") and
          fields(ours, "mpa_received") == fields(theirs, "mpa_sent"), ours)
    request = fields(ours, "mpa_sent")[0]
    check("a request", request["frame"] == "request" and request["revision"] == 2 and
          bytes.fromhex(request["bytes"]).startswith(b"MPA ID Req Frame"), request)
    check("what was agreed", fields(ours, "stream")[0]["crc"] == 1, fields(ours, "stream"))
    check("outcomes", [o["outcome"] for o in fields(ours, "outcome")] == ["established", "ended"], ours)
    check("listening", fields(theirs, "listening")[0]["local"] == f"127.0.0.1:{server.port}", theirs)
    check("adapters", len(fields(ours, "adapter")) == len(fields(ours, "adapter_close")) == 1, ours)
    merged = show(file, path / "server")
    check("merged by time", [e["time_ns"] for e in merged] == sorted(e["time_ns"] for e in merged) and
          len(merged) == len(ours + theirs))
    test_filters(file, ours, theirs, path / "server")
    test_text(file, path / "server", server.port)
    test_frames(ours, theirs)
    test_capture(file, path, ours)
    test_damage(file, path)


def test_filters(file, ours, theirs, server):
    check("-c", {e["connection"] for e in show("-c", 1, file)} == {1} and not show("-c", 2, file))
    check("-c of several", len(show("-c", "0,1", file)) == len(ours))
    check("-e", [e["event"] for e in show("-e", "state,outcome", file)].count("outcome") == 2)
    check("--value", [e["event"] for e in show("--value", "established", "-e", "outcome", file)] == ["outcome"])
    thread = ours[0]["thread"]
    check("-t", {e["thread"] for e in show("-t", thread, file)} == {thread})
    connector = fields(theirs, "connector")[0]["object"]
    check("-O has the object's connections", [e for e in show("-O", connector, server) if e["connection"]] ==
          [e for e in theirs if e["connection"] == 1])
    check("-O has the object's calls", fields(show("-O", connector, server), "NdkDisconnect") ==
          [{"object": connector}])
    check("-O of no object", not show("-O", "0x123456789", file))
    middle = ours[5]["seconds"]
    early, late = show("--until", f"{middle:.9f}", file), show("--since", f"{middle:.9f}", file)
    check("--since and --until", len(early) + len(late) in (len(ours), len(ours) + 1) and len(early) > 4,
          (len(early), len(late)))
    for wrong in (["-c", "x"], ["-O", "x"], ["--since", "x"], ["--what"], ["-e"]):
        check(f"{wrong}", run(NDKTRACE, "show", *wrong, file)[0] == 2)
    check("no file", run(NDKTRACE, "show")[0] == 2 and run(NDKTRACE)[0] == 2 and run(NDKTRACE, "run")[0] == 2)


def test_text(file, server, port):
    code, out, err = run(NDKTRACE, "show", file)
    lines = out.splitlines()
    check("text", code == 0 and not err and lines[0].startswith("# ndkping, process "), (code, err, lines[:2]))
    check("a line for the connection", any(line.startswith("-- connection 1: 127.0.0.1:") and
          line.endswith(f" -> 127.0.0.1:{port}") for line in lines), out)
    check("states by name", "from=COMPLETING event=up to=ESTABLISHED\n" in out, out)
    check("no bytes", "bytes=4d50" not in out and "why=ok" not in out, out)
    out = run(NDKTRACE, "show", "-v", file)[1]
    check("-v", "why=ok" in out and "bytes=4d504120494420526571204672616d65" in out, out)
    out = run(NDKTRACE, "show", file, server)[1]
    check("two files: two heads, and the process on each line", out.count("# ndkping, process ") == 2 and
          out.splitlines()[2].startswith("# clock of process ") and out.splitlines()[3].split()[2] == "process",
          out[:400])


def frames_of(events, direction):
    """The FPDUs that were sent or received, without the fields that differ between the two ends."""
    names = ("tagged", "untagged", "no_segment")
    return [(e["event"], {**e["fields"], "direction": ""}) for e in events
            if e["event"] in names and e["fields"]["direction"] == direction]


def test_frames(ours, theirs):
    check("each FPDU that one end sent, the other one received",
          frames_of(ours, "sent") == frames_of(theirs, "received")
          and frames_of(ours, "received") == frames_of(theirs, "sent"), (ours, theirs))
    sent = frames_of(ours, "sent")
    check("ready-to-receive", sent[0] == ("no_segment", {"direction": "", "length": 0, "crc": "good"}), sent[0])
    opcodes = [f["opcode"] for name, f in sent + frames_of(ours, "received") if name != "no_segment"]
    check("opcodes", {"send", "write", "read-request", "read-response"} == set(opcodes), opcodes)
    request = [f for _, f in frames_of(ours, "received") if f.get("opcode") == "read-request"]
    check("the contents of a Read Request", len(bytes.fromhex(request[0]["bytes"])) == 28, request)


def tshark(capture, *arguments):
    code, out, err = run("tshark", "-r", capture, *arguments)
    check(f"tshark {arguments}", code == 0, err)
    return [line.split("\t") for line in out.splitlines()]


def capture_of(file, path, *options):
    code, _, err = run(NDKTRACE, "pcap", "-o", path / "out.pcapng", *options, file)
    check("pcap", code == 0 and "wireshark" in err, err)
    return path / "out.pcapng"


# What Wireshark reports about MPA revision 2 (RFC 6581), which it does not know.
KNOWN_EXPERTS = {"Res field is NOT set to zero as required by RFC 5044",
                 "Rev field is NOT set to one as required by RFC 5044"}


def test_capture(file, path, ours):
    """tshark finds every frame of the trace, whole and where TCP had it."""
    if not shutil.which("tshark"):
        print("tshark is missing: captures are not tested")
        return
    capture = capture_of(file, path)
    rows = tshark(capture, "-T", "fields", "-e", "_ws.col.Protocol", "-e", "iwarp_rdma.opcode", "-e", "tcp.seq", "-e",
                  "tcp.len", "-e", "tcp.srcport", "-e", "frame.comment", "-e", "frame.interface_name")
    opcodes = ["write", "read-request", "read-response", "send"]
    expected = [opcodes.index(e["fields"]["opcode"]) for e in ours if "opcode" in e["fields"]]
    check("opcodes in their order", [int(r[1], 16) for r in rows if r[1]] == expected, rows)
    check("start-up frames", sum(r[0] == "MPA" for r in rows) == 3, rows)
    following = {}
    for _, _, sequence, size, port, _, _ in rows[3:]:
        check("sequence numbers without a gap", int(sequence) == following.get(port, 1), rows)
        following[port] = int(sequence) + int(size)
    comments = [r[5] for r in rows if r[5]]
    check("comments", comments[0] == "connection 1: established" and "local-disconnect" in comments[-1], comments)
    check("interface", {r[6] for r in rows} == {"lo"}, rows)
    experts = re.findall(r"^ +\d+ +\S+ +\S+  (.*)$", run("tshark", "-r", capture, "-q", "-z", "expert,warn")[1], re.M)
    check("no other expert item", set(experts) == KNOWN_EXPERTS, experts)
    details = run("tshark", "-r", capture, "-V")[1]
    check("every CRC is good", details.count("(Good CRC32)") == len(expected) + 1 and "Bad CRC" not in details,
          expected)
    cut = tshark(capture_of(file, path, "--zeros", "0"), "-T", "fields", "-e", "frame.len", "-e", "frame.cap_len")
    whole = tshark(capture_of(file, path, "--zeros", "64K"), "-T", "fields", "-e", "frame.len")
    check("without zeros: truncated, with their length", [c[0] for c in cut] == [w[0] for w in whole] and
          sum(c[0] != c[1] for c in cut) == sum("opcode" in e["fields"] and e["fields"]["opcode"] != "read-request"
                                                for e in ours), cut)
    count = len(whole)
    run(NDKTRACE, "pcap", "-o", path / "both.pcapng", file, path / "server")
    check("of two ends, each packet once", len(tshark(path / "both.pcapng")) == count)
    check("-c", not tshark(capture_of(file, path, "-c", "7")))
    code, out, _ = run(NDKTRACE, "pcap", "-o", path / "none" / "x", file)
    check("no such directory", code == 1 and not out)


def test_damage(file, path):
    whole, cut = file.read_bytes(), path / "cut"
    head = struct.unpack_from("<I", whole, 16)[0]
    cut.write_bytes(whole[:head + 16 + 200])
    code, out, _ = run(NDKTRACE, "show", cut)
    check("a truncated file: its beginning", code == 0 and "# the file is truncated: 256 of 256 segments" in out and
          "adapter" in out, out)
    broken = bytearray(whole)
    broken[head + 16 + 56:head + 16 + 100] = b"\xff" * 44
    cut.write_bytes(broken)
    code, out, _ = run(NDKTRACE, "show", cut)
    check("a damaged file", code == 0 and "# the file is damaged: the rest of 1 segments was skipped" in out, out)
    for name, text in (("empty", b""), ("text", b"hello"), ("head", whole[:100])):
        cut.write_bytes(text)
        code, out, err = run(NDKTRACE, "show", cut)
        check(f"{name}: refused", code == 1 and not out and "not a trace file" in err, (code, out, err))
    check("no such file", run(NDKTRACE, "show", path / "none")[0] == 1)
    check("a directory", run(NDKTRACE, "show", path)[0] == 1)


def trace_of(schema, events, program=b"program"):
    """The bytes of a trace file with one segment. events: (number, connection, fields)."""
    records = b""
    for number, connection, data in events:
        size = (16 + len(data) + 7) // 8 * 8
        records += (struct.pack("<HHIQ", size, number, connection, len(records)) + data).ljust(size, b"\0")
    head = b"ONDKTRCE" + struct.pack("<8I3Q", 0x01020304, 1, 224 + len(schema), 65536, 1, 224, len(schema), 7, 0, 0, 0)
    head += program.ljust(64, b"\0") + b"host".ljust(64, b"\0") + b"1".ljust(32, b"\0")
    return head + schema + (struct.pack("<QII", 1, len(records), 0) + records).ljust(65536, b"\0")


def test_hostile(path):
    """Files that somebody made: names that would control a terminal, and more of everything than the tool accepts."""
    file = path / "hostile"
    file.write_bytes(trace_of(b"names l 1=\x1b[2J\nevent 5 e\x1b]0;x\x07 n\xff\x9b:u8:l\n", [(5, 1, b"\1")],
                              b"\x1b[31m"))
    code, out, _ = run(NDKTRACE, "show", file)
    check("no escape of a terminal", code == 0 and out.splitlines()[-1].split()[3:] == ["e?]0;x?", "n??=?[2J"] and
          "\x1b" not in out, out)
    check("JSON of these names", show(file)[0]["fields"] == {"n??": "?[2J"})
    file.write_bytes(trace_of(b"".join(b"event %d e%d\n" % (i, i) for i in range(5, 2000)),
                              [(5, 0, b""), (1999, 0, b"")]))
    out = run(NDKTRACE, "show", file)[1].splitlines()
    check("events beyond the limit have a number", [line.split()[3] for line in out[2:]] == ["e5", "event-1999"], out)
    lists = b"".join(b"names l%d 1=one\n" % i for i in range(300))
    file.write_bytes(trace_of(lists + b"event 5 e a:u8:l0 b:u8:l299\n", [(5, 0, b"\1\1")]))
    check("lists beyond the limit: numbers", show(file)[0]["fields"] == {"a": "one", "b": 1})


def test_capture_of_two_hosts(path):
    """The clocks of two hosts differ: the accepting end's events seem to be first."""
    server = Server(path / "server", "--count", "1")
    client(path / "client", server.port)
    server.end()
    counts = [run(NDKTRACE, "pcap", "-o", path / "x", path / "client")[2].split()[3]]
    late = bytearray((path / "client").read_bytes())
    struct.pack_into("<Q", late, 40, struct.unpack_from("<Q", late, 40)[0] + 10**12)
    (path / "late").write_bytes(late)
    for first in ("late", "client"):
        counts.append(run(NDKTRACE, "pcap", "-o", path / "x", path / "server", path / first)[2].split()[3])
    check("the initiator's packets only", int(counts[0]) > 10 and len(set(counts)) == 1, counts)
    before = (path / "client").read_bytes()
    code, _, err = run(NDKTRACE, "pcap", "-o", path / "client", path / "server")
    check("a trace file is not overwritten", code == 1 and "not overwritten" in err and
          (path / "client").read_bytes() == before, err)


def test_refused(path):
    code, _, _ = client(path / "refused", 50299)
    end = fields(show(path / "refused"), "outcome")
    if shutil.which("tshark"):
        rows = tshark(capture_of(path / "refused", path), "-T", "fields", "-e", "tcp.flags.reset", "-e",
                      "frame.comment")
        check("refused: SYN, RST", [r[0] in ("1", "True") for r in rows] == [False, True] and
              "failed in phase connecting: refused" in rows[1][1], rows)
    check("no listener", code != 0 and end[0]["outcome"] == "failed" and end[0]["why"] == "refused" and
          end[0]["phase"] == "connecting", end)


def test_rejected(path):
    server = Server(path / "rejects", "--reject", "--count", "1")
    code = client(path / "rejected", server.port)[0]
    server.end()
    events = show(path / "rejected")
    check("rejected", code != 0 and fields(events, "mpa_received")[0]["frame"] == "reject" and
          fields(events, "outcome")[0]["why"] == "rejected", events)
    check("the reject was sent", fields(show(path / "rejects"), "mpa_sent")[0]["frame"] == "reject")


def read_to_end(peer):
    try:
        while peer.recv(4096):
            pass
    except ConnectionResetError:
        pass


def send_raw(port, data):
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(data)
        read_to_end(peer)


def test_long_transfer(path):
    """Megabytes in one direction: Wireshark finds no retransmission, no gap and no frame outside of the window."""
    if not shutil.which("tshark"):
        return
    server = Server(path / "server", "--count", "4", "--size", "4M")
    client(path / "client", server.port, "--count", "4", "--size", "4M")
    server.end()
    capture = capture_of(path / "client", path, "--zeros", "0")
    notes = re.findall(r"^ +\d+ +\S+ +TCP  (.*)$", run("tshark", "-r", capture, "-q", "-z", "expert,note")[1], re.M)
    check("notes about TCP", all("connection closing" in note for note in notes), notes)
    sums = [sum(int(size) for _, size in tshark(capture, "-Y", f"tcp.{end}port == {server.port}", "-T", "fields", "-e",
                                                "frame.number", "-e", "tcp.len")) for end in ("src", "dst")]
    check("all bytes of both directions", min(sums) > 4 * (4 << 20), sums)


def test_bad_requests(path):
    """The server's trace says what was wrong with each peer."""
    server = Server(path / "bad")
    request = b"MPA ID Req Frame"
    send_raw(server.port, b"GET / HTTP/1.0\r\n\r\n")
    send_raw(server.port, request + b"\x40\x09\x00\x00")
    send_raw(server.port, request + b"\x40\x01\x02\x01" + bytes(513))
    send_raw(server.port, request + b"\xc0\x01\x00\x00")
    server.stop()
    events = show(path / "bad")
    frames, ends = fields(events, "mpa_received"), fields(events, "outcome")
    check("kinds of frames", [f["frame"] for f in frames] == ["invalid", "request", "invalid", "request"], frames)
    check("the first bytes of what is no frame", bytes.fromhex(frames[0]["bytes"]).startswith(b"GET /"), frames[0])
    check("revision and markers", frames[1]["revision"] == 9 and frames[3]["markers"] == 1, frames)
    check("reasons", [e["why"] for e in ends] == ["bad-request", "bad-revision", "bad-request", "unsupported-request"],
          ends)
    check("a connection each", [e["connection"] for e in events if e["event"] == "outcome"] == [1, 2, 3, 4], events)


def test_limit(path):
    """A time limit that passes."""
    server = Server(path / "silent")
    with socket.create_connection(("127.0.0.1", server.port)) as peer:
        read_to_end(peer)  # until the server gives up
    server.stop()
    events = show(path / "silent")
    expired = fields(events, "limit_expired")
    check("a limit", fields(events, "limit")[0] == {"state": "WAIT_REQUEST", "ms": 300}, events)
    check("its end", expired == [{"state": "WAIT_REQUEST", "why": "request-timeout"}], expired)


def test_follow(path):
    server = Server(path / "followed", "--count", "1")
    with subprocess.Popen([NDKTRACE, "show", "-j", "--follow", str(path / "followed")], stdout=subprocess.PIPE,
                          text=True, env=ENVIRONMENT) as follower:
        line = follower.stdout.readline()
        check("follow: the first event", json.loads(line)["event"] == "adapter", line)
        client(path / "client", server.port)
        server.end()
        key = [(e["time_ns"], e["event"]) for e in show(path / "followed")]
        seen = [json.loads(line)]
        while len(seen) < len(key):
            seen.append(json.loads(follower.stdout.readline()))
        follower.send_signal(signal.SIGINT)
        check("follow: nothing more", not follower.stdout.read())
    check("follow: Ctrl-C", follower.returncode == 130, follower.returncode)
    check("follow: every event once", sorted((e["time_ns"], e["event"]) for e in seen) == sorted(key))


def test_texts(path):
    """The schema has the words of docs/reasons.md."""
    client(path / "file", 50298)
    data = (path / "file").read_bytes()
    offset, size = struct.unpack_from("<II", data, 28)
    names, texts = {}, {}
    for line in data[offset:offset + size].decode("ascii").splitlines():
        words = line.split(" ", 3)
        if words[0] == "names":
            names[words[1]] = dict(word.split("=") for word in line.split(" ")[2:])
        elif words[0] in ("text", "advice"):
            texts[words[0], words[1], words[2]] = words[3]
    page = (pathlib.Path(__file__).parents[2] / "docs/reasons.md").read_text()
    for kind in ("reason", "terminate"):
        count = 0
        for value, name in names[kind].items():
            if name in ("ok", "none"):
                continue
            count += 1
            check(f"{kind} {name}: the words of docs/reasons.md", f" | {name} | " in page and
                  f"| {texts['text', kind, value]} | {texts['advice', kind, value]} |" in page, texts)
        check(f"{kind}: all of them", count > 30, names)


def test_run(path):
    check("a program that is not there", run(NDKTRACE, "run", "--", path / "none")[0] == 127)
    (path / "text").write_text("text")
    check("a program that cannot be executed", run(NDKTRACE, "run", "--", path / "text")[0] == 126)
    code, _, err = run(NDKTRACE, "run", "-o", path / "x", "--", "sh", "-c", "exit 7")
    check("the program's status", code == 7 and "nothing was traced" in err, (code, err))
    check("a signal", run(NDKTRACE, "run", "-o", path / "x", "--", "sh", "-c", "kill -9 $$")[0] == 128 + 9)
    code, out, err = run(NDKTRACE, "run", "-o", path / "y.%p", "--size", "2", "--", "sh", "-c",
                         f"echo $ONDK_TRACE; {NDKPING} -C -ServerAddr 127.0.0.1:50299 & "
                         f"{NDKPING} -C -ServerAddr 127.0.0.1:50299; wait")
    check("two programs, two files", err.count(f"ndktrace show {path}/y.") == 2 and len(list(path.glob("y.*"))) == 2,
          err)
    check("size", out.startswith(f"{path}/y.%p,2\n"), out)


ENVIRONMENT["ONDK_REQUEST_MS"] = "300"
for name, test in list(globals().items()):
    if name in ("test_filters", "test_text", "test_damage", "test_frames",
                "test_capture") or not name.startswith("test_"):
        continue
    with tempfile.TemporaryDirectory() as directory:
        test(pathlib.Path(directory))
sys.exit(1 if failed else 0)
