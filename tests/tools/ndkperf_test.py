#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkperf: every test in both modes, formats, options, data checks, incompatible peers, and ends that are
interrupted or killed. The test does not check the measured times."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from ndkperf_runs import LIMIT, LOOPBACK, NDKPING, SANITIZED, SHORT, Process, address, check, end, pair, rows, run


def every_test():
    for test in ("send", "write", "read", "rperf"):
        text, _ = pair(f"{test} bandwidth", ("--test", test, *SHORT), client_says=("BW average[MB/sec]", "completes"),
                       server_says=(f"{test} of 65536 bytes: 300 messages",))
        row = (rows(text) or [[]])[0]
        check(f"{test} bandwidth: seven columns", len(row) == 7 and row[:2] == ["65536", "300"] and float(row[3]) > 0,
              text)
        text, _ = pair(f"{test} winof", ("--test", test, "--format", "winof", *SHORT),
                       client_says=("#qp #bytes #iterations    MR [Mmps]     Gb/s     CPU Util.",))
        row = (rows(text) or [[]])[0]
        check(f"{test} winof: six columns", len(row) == 6 and row[:3] == ["1", "65536", "300"], text)
        pair(f"{test} checked", ("--test", test, "--check", "-s", "1000", "-q", "3", "-t", "7", "--burst", "3", *SHORT),
             client_says=("900",), server_says=("900 messages",))
        pair(f"{test} by time", ("--test", test, "--check", "-D", "0.05", "-q", "2", "-s", "100"))
    for test in ("send", "write", "read"):
        text, _ = pair(f"{test} latency", ("--test", test, "--latency", "--check", "-s", "100", *SHORT),
                       client_says=("t_typical[usec]", "99.9% percentile[usec]"))
        row = [float(x) for x in (rows(text) or [[]])[0]]
        check(f"{test} latency: eleven columns", len(row) == 11 and row[:2] == [100, 300], text)
        check(f"{test} latency: in order", len(row) == 11 and 0 < row[2] <= row[4] <= row[7] <= row[8] <= row[3], row)
        text, _ = pair(f"{test} latency winof", ("--test", test, "--latency", "--format", "winof", *SHORT),
                       client_says=("Latency [usec]",))
        check(f"{test} latency winof: five columns", [len(r) for r in rows(text)] == [5], text)
        pair(f"{test} latency of queue pairs in turn", ("--test", test, "--latency", "-q", "3", *SHORT),
             client_says=("900",))


def windows_spelling():
    at = address()
    with Process("-S", "-ServerAddr", at, "-ServerIf", LOOPBACK, "-TestType", "rperf", "-W", "60") as s:
        code, out, err = run("-C", "-ServerAddr", at, "-ClientAddr", "127.0.0.1", "-ClientIf", LOOPBACK, "-TestType",
                             "rperf", "-V", "-ts", "4096", "-n", "50")
    check("windows spelling", (code, s.code) == (0, 0), (out, err, s.text))
    check("windows spelling: -ts", [r[:2] for r in rows(out)] == [["4096", "50"]], out)
    for name in ("rread", "rwrite", "rsend", "RPERF"):
        pair(f"-TestType {name}", ("-TestType", name, *SHORT))


def json_format():
    out, server = pair("json", ("--test", "send", "--latency", "--histogram", "--format", "json", "-a", "--limit", "16",
                                *SHORT), ("--format", "json"))
    d, s = json.loads(out), json.loads(server)
    check("json: head", (d["test"], d["mode"], d["exit"], d["interrupted"]) == ("send", "latency", 0, False), d)
    check("json: sizes", [r["size"] for r in d["results"]] == [2, 4, 8, 16], d)
    for r in d["results"]:
        t = r["latency_us"]
        check("json: quantiles in order", 0 < t["min"] <= t["median"] <= t["p99"] <= t["p99.9"] <= t["max"], t)
        check("json: histogram counts all", sum(n for _, _, n in r["histogram_ns"]) == r["messages"] == 300, r)
    check("json: server", s["role"] == "server" and [r["messages"] for r in s["results"]] == [300] * 4, s)
    check("json: processor time of both", all(r[f"{end}_cpu_us_per_message"] >= 0 for r in d["results"]
                                              for end in ("client", "server")), d)
    code, out, err = run("client", "--address", "127.0.0.1:21099", "--format", "json")
    check("json: nobody there", code == 1 and json.loads(out)["exit"] == 1 and "STATUS_CONNECTION_REFUSED" in err,
          (code, out, err))


def sizes_and_options():
    text, _ = pair("-a", ("-a", "--limit", "8192", "--test", "write", "--check", "-n", "50", "--warmup", "0"))
    check("-a: all sizes", [int(r[0]) for r in rows(text)] == [2 << i for i in range(13)], text)
    text, _ = pair("-a and an odd limit", ("-a", "--limit", "100", "-n", "5", "--warmup", "0"))
    check("-a and an odd limit: sizes below", [int(r[0]) for r in rows(text)] == [2, 4, 8, 16, 32, 64], text)
    pair("large messages", ("-s", "8388608", "--check", "-n", "20", "--warmup", "0", "-t", "4"))
    pair("one byte", ("-s", "1", "--check", *SHORT))
    pair("one byte, latency of writes", ("-s", "1", "--check", "--test", "write", "--latency", *SHORT))
    for window in "1", "2", "3", "128":
        pair(f"window {window}", ("-t", window, "--burst", "64", "-s", "100", "--check", *SHORT),
             client_says=(f"Window : {window}\n",))
    pair("many queue pairs", ("-q", "30", "-s", "512", "-n", "40", "--check"), client_says=("1200",))
    pair("inline", ("-I", "256", "-s", "200", "--check", *SHORT), client_says=("Inline          : 256",))
    pair("no CRC", ("--crc", "off", *SHORT), ("--crc", "off"), client_says=("CRC             : off",))
    pair("read limits", ("--test", "read", "--ird", "3", "--ord", "2", *SHORT),
         client_says=("inbound 3, outbound 2",))
    pair("IPv6", SHORT, at="[::1]:21090", client_says=("Local address   : [::1]:",))
    pair("events", ("--events", "-q", "2", "--check", "-s", "300", *SHORT), ("--events",),
         client_says=("Waiting: events",))
    pair("events at the server alone", ("--test", "send", "--latency", *SHORT), ("--events",))
    pair("latency of writes, events at the server", ("--test", "write", "--latency", *SHORT), ("--events",))
    pair("latency by events", ("--events", "--test", "read", "--latency", *SHORT))
    pair("moderation", ("--events", "--moderation", "8,100", "--test", "send", *SHORT), ("-e", "--moderation", "4,50"))
    pair("histogram", ("--test", "read", "--latency", "--histogram", *SHORT), client_says=(" usec ", "%"))


def logs():
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "log"
        for options, runs in ((("--log-file", str(log)), 1), (("-LogFilename", str(log), "-A"), 2)):
            pair("log file", (*options, *SHORT))
            check("log file: runs in it", log.read_text().count("client completes") == runs, log.read_text())


DIFFERS = ("message 0 on queue pair ", " differs at byte ")  # the first of each is false; whose is seen first is open


def wrong_data():
    """--corrupt changes one byte: the end that verifies the data reports its position."""
    for test, mode in (("send", ()), ("write", ()), ("rperf", ()), ("send", ("--latency",)), ("write", ("--latency",))):
        for more in ((), ("-q", "2", "-t", "5")):
            options = ("--test", test, *mode, "-s", "1000", "--check", "--corrupt", *more, *SHORT)
            pair(f"wrong data, {test} {mode}", options, codes=(3, 3),
                 client_says=(*DIFFERS, "found by the server"), server_says=DIFFERS)
    for mode in ((), ("--latency",)):
        pair(f"wrong data, read {mode}", ("--test", "read", *mode, "-s", "1000", "--check", "--corrupt", *SHORT),
             codes=(3, 0), client_says=("message 0 on queue pair 1 differs at byte 500, found by the client",))


def profiles():
    for profile, window in (("default", 128), ("narrow", 128), ("no-windows", 128), ("shallow", 31)):
        for who, options in (("both", {"client": ("--profile", profile), "server": ("--profile", profile)}),
                             ("client", {"client": ("--profile", profile)}),
                             ("server", {"server": ("--profile", profile)})):
            options["client"] = (*options.get("client", ()), "-s", "100", "--check", "-I", "64", *SHORT)
            pair(f"profile {profile}, {who}", client_says=(f"Window : {window}",), **options)
    pair("profile by the environment", ("-q", "2", *SHORT), client_env={"ONDK_PROFILE": "shallow"},
         client_says=("Window : 15 (limited by the adapters)", "inbound 2, outbound 2"))
    least = {"ONDK_PROFILE": "minimal", "ONDK_MAX_PRIVATE": "56"}
    pair("the least with 56 bytes of private data", ("--check", *SHORT), client_env=least, server_env=least,
         client_says=("Window : 15", "inbound 1, outbound 1"))
    pair("too large for the server", ("-s", "2000000"), server_env=least, codes=(5, 130),
         client_says=("the server refused: the server's adapter transfers messages of at most 1048576 bytes",))
    code, out, err = run("client", "--address", address(), "-s", "2000000", env=least)
    check("too large for the client", code == 5 and "this adapter transfers at most 1048576 bytes" in out,
          (code, out, err))
    text, _ = pair("-a ends where the client's adapter does", ("-a", "-n", "3", "--warmup", "0"), client_env=least)
    check("-a ends where the client's adapter does: sizes", int(rows(text)[-1][0]) == 1048576, text)
    pair("too many queue pairs for the server", ("-q", "33"), ("--profile", "shallow"), codes=(5, 130),
         client_says=("the queue pairs exceed the server's adapter (limit 64)",))
    for options in ("client", "server"):
        code, out, err = run(options, "--address", address(), "--profile", "minimal")
        check(f"no private data, {options}", code == 5 and "supports 0 bytes of private data" in out, (code, out, err))
    pair("moderation where there is none", ("-e", "--moderation", "8,100", "--profile", "narrow"), codes=(1, 1),
         client_says=("NdkControlCqInterruptModeration failed: STATUS_NOT_SUPPORTED",),
         server_says=("waiting for the client's queue pairs failed: STATUS_CONNECTION_ABORTED",))


def peers_that_do_not_fit():
    pair("another version of the client", ("--protocol", "1"), codes=(5, 130),
         client_says=("uses version 2 of ndkperf's protocol", "install the same release"),
         server_says=("refused a client: ", "uses version 1 of ndkperf's protocol, this end version 2"))
    pair("another version of the server", (), ("--protocol", "7"), codes=(5, 130),
         client_says=("uses version 7 of ndkperf's protocol, this end version 2",),
         server_says=("refused a client: ", "uses version 2"))
    at = address()
    with Process("server", "--address", at) as s:
        code, out, err = run("-C", "-ServerAddr", at, program=NDKPING)
        check("a foreign client", code == 1 and "STATUS_CONNECTION_REFUSED" in out, (code, out, err))
        with socket.create_connection(at.split(":")) as raw:
            raw.sendall(b"GET / HTTP/1.0\r\n\r\n")
        with socket.create_connection(at.split(":")) as raw: # half a hello, in a well-formed request
            raw.sendall(b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, 12) + b"NDKP\x02\0\0\0half")
            check("half a hello", b"MPA ID Rep Frame" in raw.recv(100), "nothing")
        code, out, err = run("client", "--address", at, *SHORT)
    check("a foreign client, and then a real one", (code, s.code) == (0, 0), (out, err, s.text))
    check("a foreign client: told", s.text.count("refused a peer that is not ndkperf") == 2, s.text)
    at = address()
    ping = subprocess.Popen([NDKPING, "-S", "-ServerAddr", at, "-W", "60"], stdout=subprocess.PIPE, text=True)
    while "listening" not in ping.stdout.readline():
        pass
    code, out, err = run("client", "--address", at)
    check("a foreign server", code == 5 and "is not ndkperf" in out, (code, out, err))
    ping.communicate(timeout=LIMIT)
    for options, who in ((("--ord", "0"), "this side"), (("--ird", "0", "--bidirectional"), "the peer")):
        at = address()
        with Process("server", "--address", at, "-W", "60") as s:
            code, out, err = run("client", "--address", at, "--test", "read", *options, *SHORT)
        check(f"no reads, {options}", code == 5 and f"{who} may have 0 reads in progress" in out and
              "NOT_SUPPORTED" not in out, (code, out, err))
    code, out, err = run("client", "--address", address())
    check("no server", code == 1 and "STATUS_CONNECTION_REFUSED (0xC0000236)" in out and
          "reason 0x00210000 refused: Nobody listens" in out, (code, out, err))
    code, out, err = run("server", "--address", address(), "-W", "1")
    check("no client", code == 4 and "nobody connected within 1 seconds" in out, (code, out, err))
    at = address()
    with Process("server", "--address", at, "-W", "60") as s:
        code, out, err = run("server", "--address", at, "-W", "1")
        client = run("client", "--address", at, *SHORT)
    check("a taken address", code == 1 and "STATUS_SHARING_VIOLATION" in out, (code, out, err))
    check("a taken address: who has it serves on", (client[0], s.code) == (0, 0), (client, s.text))


def interrupted(name, client, server, who, sign, codes):
    """After the client's first live line, one end is interrupted or killed."""
    at = address()
    with Process("server", "--address", at, *server) as s:
        with Process("client", "--address", at, "--live", "-D", "300", *client, until="bytes, ") as c:
            (c if who == "client" else s).process.send_signal(sign)
    check(f"{name}: exit codes", (c.code, s.code) == codes, (c.code, c.text, s.code, s.text))
    check(f"{name}: live line", re.search(r"\d+ bytes, [\d.]+ s: .*( Mmps|99 % [\d.]+ us)\n", c.err), c.err)
    return c.out, s.out


class LateWords:
    """A proxy that delays the server's data of the first connection, but not of the others."""

    def __init__(self, at):
        host, number = at.rsplit(":", 1)
        self.server, self.listener = (host, int(number)), socket.create_server(("127.0.0.1", 0))
        self.at = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        for late in (0.1, 0, 0):
            try:
                client, _ = self.listener.accept()
            except OSError: # who should have come has ended
                return
            server = socket.create_connection(self.server)
            for ends in ((client, server, 0), (server, client, late)):
                self.threads.append(threading.Thread(target=self.carry, args=ends, daemon=True))
                self.threads[-1].start()

    @staticmethod
    def carry(source, target, late):
        try:
            while data := source.recv(65536):
                time.sleep(late)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError: # an end that has gone
            pass

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads: # the first one adds the others; both ends have ended, and so their sockets
            thread.join(LIMIT)
        self.listener.close()


def last_word():
    """The server's last answer may arrive after the end of the lanes, which are separate connections."""
    for mode in ((), ("--events",)):
        at = address()
        with Process("server", "--address", at, "-W", "60") as s:
            between = LateWords(at)
            code, out, err = run("client", "--address", between.at, "-q", "2", *mode, *SHORT)
        check(f"last word {mode}", (code, s.code) == (0, 0), (code, out, err, s.code, s.text))
        between.end()


class FalseCount(LateWords):
    """
    A proxy that makes the server claim 2 ** 60 messages of its own in each outcome. Both ends must be without CRC.
    """

    @staticmethod
    def carry(source, target, late):
        try:
            with source.makefile("rb") as stream:
                if late: # the server's data of the control connection: a reply, and FPDUs
                    reply = stream.read(20)
                    target.sendall(reply + stream.read(int.from_bytes(reply[18:20], "big")))
                while late and (head := stream.read(2)):
                    rest = stream.read(-(2 + int.from_bytes(head, "big")) % 4 + int.from_bytes(head, "big") + 4)
                    if len(rest) == 86 and rest[50:58] != bytes(8): # an outcome whose number of messages is not 0
                        rest = rest[:50] + (1 << 60).to_bytes(8, "big") + rest[58:]
                    target.sendall(head + rest)
                while data := stream.read1(65536):
                    target.sendall(data)
        except OSError: # an end that has gone
            pass
        with contextlib.suppress(OSError): # after a reset, too: the client breaks off
            target.shutdown(socket.SHUT_WR)


def false_count():
    """A client does not believe a server that claims more checked writes than fit into its window."""
    at = address()
    with Process("server", "--address", at, "-W", "60", "--crc", "off") as s:
        between = FalseCount(at)
        code, out, err = run("client", "--address", between.at, "-q", "2", "--crc", "off", "--bidirectional", "--check",
                             "--test", "write", "-s", "100", *SHORT)
    check("a false count", code == 1 and "the server's number of messages failed" in out, (code, out, err, s.text))
    between.end()


def memory():
    """A client that needs more memory than the server allows is refused, and the next one is served."""
    at = address()
    with Process("server", "--address", at, "-W", "60") as s:
        for options in (("-q", "1024", "-s", "268435456"), ("-q", "1024", "-s", "1000000"), ("-s", "200000000"),
                        ("-q", "400", "-s", "1000000", "--check")):
            code, out, err = run("client", "--address", at, *options)
            check(f"memory, {options}", code == 5 and "more memory than the server's limit of 512 MiB" in out and
                  "--memory at the server" in out, (code, out, err))
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{s.process.pid}/status").read_text())[1])
        check("memory: nothing was taken for those that were refused", SANITIZED or peak < 256 * 1024, peak)
        code, out, err = run("client", "--address", at, "-s", "1000000", "-q", "8", "-n", "30", "--warmup", "0.01")
    check("memory: the next client", (code, s.code) == (0, 0), (code, out, err, s.code, s.text))
    check("memory: the server says whom it refused", s.text.count("refused a client: these queue pairs") == 4, s.text)
    pair("memory: a lower limit", ("-s", "8388608"), ("--memory", "16"), codes=(5, 130),
         client_says=("the server's limit of 16 MiB",), server_says=("limit of 16 MiB",))
    pair("memory: a higher limit", ("-s", "8388608", "-n", "1", "--warmup", "0"), ("--memory", "26"))


def threads_of(pid):
    """The states of a process's threads: R, S and so on."""
    stats = [(task / "stat").read_text() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    return "".join(stat.rpartition(") ")[2][0] for stat in stats)


def sleeps(pid):
    """Returns whether all threads sleep at thirty checks, which is false if one of them polls."""
    times = 0
    for _ in range(4000):
        times += set(threads_of(pid)) == {"S"}
        if times == 30:
            return True
        time.sleep(0.005)
    return False


def stop(process):
    """Stops the process, and returns when all its threads are stopped."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def stopped():
    """An end whose peer is stopped sleeps, and continues when the peer does."""
    for test, mode, who in (("write", "--latency", "client"), ("rperf", "--bandwidth", "server")):
        at, name = address(), f"a stopped {who}, {test} {mode}"
        with Process("server", "--address", at) as s:
            with Process("client", "--address", at, "--test", test, mode, "--check", "-s", "100", "-D", "600", "--live",
                         until="bytes, ") as c:
                still, other = (c, s) if who == "client" else (s, c)
                stop(still.process)
                check(f"{name}: the other end sleeps", sleeps(other.process.pid), threads_of(other.process.pid))
                still.process.send_signal(signal.SIGCONT)
                c.process.send_signal(signal.SIGINT)
        check(f"{name}: both go on", (c.code, s.code) == (130, 0), (c.code, c.text, s.code, s.text))


PEER_ENDED = re.compile(r"failed: STATUS_CONNECTION_.* reason 0x\w+ peer-", re.S)


def ends():
    out, _ = interrupted("an interrupted client", ("--test", "send"), (), "client", signal.SIGINT, (130, 0))
    check("an interrupted client: result so far", len(rows(out)) == 1 and int(rows(out)[0][1]) > 0, out)
    out, _ = interrupted("an interrupted client, checked", ("--test", "write", "--check", "-q", "2"), ("-e",), "client",
                         signal.SIGTERM, (130, 0))
    check("an interrupted client, checked: result so far", len(rows(out)) == 1, out)
    out, server = interrupted("an interrupted client, json", ("--test", "read", "--latency", "--format", "json", "-e"),
                              ("--format", "json"), "client", signal.SIGINT, (130, 0))
    check("an interrupted client, json", json.loads(out)["interrupted"] and len(json.loads(out)["results"]) == 1, out)
    check("an interrupted client, json: server", len(json.loads(server)["results"]) == 1, server)
    out, _ = interrupted("an interrupted server", ("--test", "read"), (), "server", signal.SIGINT, (1, 130))
    check("an interrupted server: told why", PEER_ENDED.search(out), out)
    check("an interrupted server: result so far", re.search(r"^ 65536 +\d+ .* -$", out, re.M), out)
    out, _ = interrupted("a dead server", ("--test", "write", "--latency", "--format", "json"), (), "server",
                         signal.SIGKILL, (1, -9))
    check("a dead server: result so far", json.loads(out)["results"][0]["server_cpu_us_per_message"] is None, out)
    _, out = interrupted("a dead client", ("--test", "send"), ("-e",), "client", signal.SIGKILL, (-9, 1))
    check("a dead client: the server says so", PEER_ENDED.search(out), out)
    with Process("server", "--address", address()) as s:
        s.process.send_signal(signal.SIGINT)
    check("a server that waits is interrupted", s.code == 130, s.text)
    at = address()
    hello = struct.pack(">4sBBHIIIIIQI", b"NDKP", 2, 0, 0, 1, 1, 64, 1, 0, 0, 0)
    with Process("server", "--address", at) as s:
        ping = subprocess.Popen([NDKPING, "-C", "-ServerAddr", at, "--private-data", hello.hex()],
                                stdout=subprocess.PIPE, text=True)
        while (line := ping.stdout.readline()) and not line.startswith("private-data="):
            pass
        s.process.send_signal(signal.SIGINT)
    ping.communicate(timeout=LIMIT)
    check("a server that waits for queue pairs is interrupted", s.code == 130 and "failed" not in s.text,
          (line, s.code, s.text))
    at = address()
    with Process("server", "--address", at) as s:
        with Process("client", "--address", at, "--test", "send", "--live", "-D", "300", until="bytes, ") as c:
            stop(s.process)
            c.process.send_signal(signal.SIGINT)
            while (line := c.process.stderr.readline()) and "interrupted" not in line:
                pass
            c.process.send_signal(signal.SIGINT)
        s.process.send_signal(signal.SIGKILL)
    check("a client whose server is stopped is interrupted twice", c.code == 130 and line == "ndkperf: interrupted, "
          "waiting for the server's last answers and its disconnect; a second Ctrl-C ends it at once\n", (c.code, line))


def wrong_usage():
    here = ("--address", "127.0.0.1:21099")
    for name, options in {
            "no role": here, "both roles": ("-S", "-C", *here), "another role": ("both", *here),
            "no address": ("client",),
            "no port": ("client", "--address", "127.0.0.1"), "another test": ("client", *here, "--test", "atomic"),
            "rping": ("client", *here, "-TestType", "rping"), "unknown option": ("client", *here, "--nonsense"),
            "unknown profile": ("client", *here, "--profile", "wide"),
            "unknown format": ("client", *here, "--format", "xml"),
            "no size": ("client", *here, "-s", "0"), "a huge size": ("client", *here, "-s", "268435457"),
            "no queue pair": ("client", *here, "-q", "0"), "no window": ("client", *here, "-t", "0"),
            "no burst": ("client", *here, "--burst", "0"), "no time": ("client", *here, "-D", "0"),
            "a strange time": ("client", *here, "-D", "nan"), "a negative count": ("client", *here, "-n", "-1"),
            "latency of rperf": ("client", *here, "--test", "rperf", "--latency"),
            "latency of what": ("client", *here, "--latency"),
            "latency of writes by events": ("client", *here, "--test", "write", "--latency", "--events"),
            "half a moderation": ("client", *here, "-e", "--moderation", "5"),
            "moderation without events": ("client", *here, "--moderation", "5,5"),
            "histogram of bandwidth": ("client", *here, "--histogram"),
            "unseen corruption": ("client", *here, "--corrupt"),
            "trailing": ("client", *here, "x")}.items():
        code, out, err = run(*options)
        check(f"wrong usage, {name}", code == 2 and "Try 'ndkperf --help'." in err, (code, out, err))
    code, out, err = run("--help")
    check("help", code == 0 and not err and all(x in out for x in ("-ServerAddr", "--latency", "Exit status:")),
          (code, out, err))


def main():
    for part in (every_test, windows_spelling, json_format, sizes_and_options, logs, wrong_data, profiles,
                 peers_that_do_not_fit, last_word, false_count, memory, stopped, ends, wrong_usage):
        part()
    return end()


if __name__ == "__main__":
    sys.exit(main())
