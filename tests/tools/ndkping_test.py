#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkping: command lines in both spellings, exit codes, output, log files, round-trip times, many clients, names."""
import csv
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NDKPING, RPING_PEER = sys.argv[1:3]
LOOPBACK = pathlib.Path("/sys/class/net/lo/ifindex").read_text().strip()
LIMIT = 250
failures = 0
count = 0


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def run(*options):
    p = subprocess.run([NDKPING, *options], capture_output=True, text=True, timeout=LIMIT)
    return p.returncode, p.stdout + p.stderr


class Server:
    """A server that listens when the with-block begins."""

    def __init__(self, *options):
        self.process = subprocess.Popen([NDKPING, "-S", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)
        self.text = ""

    def __enter__(self):
        for line in self.process.stdout:
            self.text += line
            if line.startswith("listening") or "failed" in line:
                break
        return self

    def __exit__(self, *_):
        try:
            self.text += self.process.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.text += self.process.communicate()[0] + "(had to be ended)"
        self.code = self.process.returncode


def stop(process):
    """Stops the process, and returns when all its threads are stopped."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def pair(name, address, server_options=(), client_options=(), codes=(0, 0), server_says=(), client_says=()):
    with Server("-ServerAddr", address, "-W", "40", *server_options) as server:
        code, text = run("-C", "-ServerAddr", address, *client_options)
    check(f"{name}: exit codes", (server.code, code) == codes, (server.code, server.text, code, text))
    for wanted in server_says:
        check(f"{name}: server says {wanted}", wanted in server.text, server.text)
    for wanted in client_says:
        check(f"{name}: client says {wanted}", wanted in text, text)
    return server.text, text


class Persistent:
    """A server of many clients on a port of its own: self.at. Ends by SIGTERM, if it has not ended."""

    def __init__(self, *options, host="127.0.0.1"):
        self.process = subprocess.Popen([NDKPING, "-S", "-ServerAddr", f"{host}:0", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.at = self.process.stdout.readline().split()[-1]

    def end(self, number=signal.SIGTERM):
        if number:
            self.process.send_signal(number)
        self.text = self.process.communicate(timeout=LIMIT)[0]
        return self.process.returncode

    def run(self, *options):
        return run("-C", "-ServerAddr", self.at, *options)


def round_trips():
    server = Persistent("-P")
    code, text = server.run("--count", "5")
    times = [float(found) for found in re.findall(r"^64 bytes from \S+: ping=\d+ time=([\d.]+) us$", text, re.M)]
    check("a line for each ping", code == 0 and len(times) == 5, text)
    found = re.search(r"min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) us", text)
    check("the statistics are those of the lines", found and float(found[1]) == min(times) and
          float(found[3]) == max(times) and abs(float(found[2]) - sum(times) / 5) < 0.2, text)
    mean = sum(times) / 5
    check("the deviation", abs(float(found[4]) - (sum((t - mean) ** 2 for t in times) / 5) ** 0.5) < 0.2, text)
    code, text = server.run("-n", "50", "-q")
    check("--quiet", code == 0 and "bytes from" not in text and "min/avg" in text, text)
    start = time.monotonic()
    code, text = server.run("-n", "4", "--interval", "200ms")
    check("--interval", code == 0 and 0.6 <= time.monotonic() - start < 60, (text, time.monotonic() - start))
    code, text = server.run("-n", "2", "--sweep", "64-1K")
    rows = re.findall(r"^ +(\d+) +2 +[\d. ]+$", text, re.M)
    check("--sweep", code == 0 and rows == ["64", "128", "256", "512", "1024"], text)
    check("a size with K", "4096 bytes from" in server.run("--size", "4k")[1], "")
    server.end()


def formats():
    server = Persistent("-P", "--json")
    # with --json the line about the address is on stderr, which is read here
    p = subprocess.run([NDKPING, "-C", "-ServerAddr", server.at, "-n", "3", "--json"], capture_output=True, text=True,
                       timeout=LIMIT, check=False)
    o = json.loads(p.stdout)
    check("JSON: who wrote it", list(o)[:4] == ["tool", "version", "format", "role"] and (o["tool"], o["format"]) ==
          ("ndkping", 1), o)
    check("JSON of a client", p.returncode == o["exit"] == 0 and o["peer"] == server.at and o["pings"] == 3 and
          [r["ping"] for r in o["records"]] == [1, 2, 3] and o["times"][0]["pings"] == 3 and
          o["times"][0]["min_us"] <= o["times"][0]["avg_us"] <= o["times"][0]["max_us"], o)
    p = subprocess.run([NDKPING, "-C", "-ServerAddr", server.at, "-n", "3", "--sweep", "64-256", "--csv"],
                       capture_output=True, text=True, timeout=LIMIT, check=False)
    rows = list(csv.DictReader(io.StringIO(p.stdout)))
    check("CSV", p.returncode == 0 and [(r["size"], r["pings"]) for r in rows] == [("64", "3"), ("128", "3"),
                                                                                 ("256", "3")], p.stdout)
    check("CSV: no other table", "min us" not in p.stderr and "9 pings" in p.stderr, p.stderr)
    code = server.end(signal.SIGINT)
    o = json.loads(server.text[server.text.index("{"):])
    check("JSON of a server", code == o["exit"] == 0 and o["accepted"] == 2 and o["failed"] == 0 and
          [c["pings"] for c in o["clients"]] == [3, 9], o)
    p = subprocess.run([NDKPING, "-C", "-ServerAddr", "127.0.0.1:21008", "--json"], capture_output=True, text=True,
                       timeout=LIMIT, check=False)
    o = json.loads(p.stdout)
    check("JSON of a failure", p.returncode == o["exit"] == 1 and
          o["error"]["status"] == "STATUS_CONNECTION_REFUSED" and o["error"]["reason"] == "refused" and
          o["error"]["step"] == "NdkConnect", o)
    for options, step in ((("-ServerAddr", "no-such-host.invalid:7174"), "looking up a host"),
                          (("-ServerAddr", "127.0.0.1:21008", "-ClientAddr", "192.0.2.77"),
                           "finding the client's interface")):
        p = subprocess.run([NDKPING, "-C", *options, "--json"], capture_output=True, text=True, timeout=LIMIT,
                           check=False)
        o = json.loads(p.stdout)
        check(f"JSON of a failure: {step}", p.returncode == o["exit"] == 1 and o["error"]["step"] == step and
              o["error"]["reason_text"] in p.stderr and "status" not in o["error"], o)
    p = subprocess.run([NDKPING, "-S", "-ServerAddr", "127.0.0.1:0", "-W", "0.1", "--json"], capture_output=True,
                       text=True, timeout=LIMIT, check=False)
    o = json.loads(p.stdout)
    check("JSON of a server without a client", p.returncode == o["exit"] == 4 and
          o["error"] == {"step": "waiting for a client", "reason_text": "nobody connected within 0.1 seconds"}, o)


def many_clients():
    server = Persistent("--clients", "12")
    command = [NDKPING, "-C", "-ServerAddr", server.at, "-n", "40", "--interval", "10ms", "--size", "100000", "-q"]
    clients = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    texts = [client.communicate(timeout=LIMIT)[0] for client in clients]
    check("eight clients at once", all(client.returncode == 0 for client in clients), texts)
    for _ in range(4):
        code, text = server.run()
        check("clients one after another", code == 0, text)
    code = server.end(None)
    check("a server of twelve clients", code == 0 and "12 clients, 0 failed" in server.text, server.text)
    lines = [line for line in server.text.splitlines() if " pings, " in line or " ping, " in line]
    check("each client's lines begin with its address", len(lines) == 12 and
          len({line.split(": ")[0] for line in lines}) == 12, lines)
    server = Persistent("-P", "--size", "1000")
    check("a client that asks for too much fails", server.run("--size", "2000")[0] == 1, "")
    check("the server goes on", server.run()[0] == 0, "")
    check("the exit code shows the client that failed", server.end() == 1 and "2 clients, 1 failed" in server.text,
          server.text)
    for wait in "0.5", "5", "60":
        server = Persistent("-P", "-W", wait)
        code, text = server.run()
        if code == 0 or server.end(None) != 4: # 4: the server has ended before the client came
            break
    check("a client", code == 0, text)
    start = time.monotonic()
    if code == 0:
        check("a server ends when no client comes any more", server.end(None) == 0 and
              time.monotonic() - start < float(wait) + 60, server.text)


def no_thread():
    """A server that cannot start a client's thread refuses the client and serves the next one."""
    if b"__sanitizer" in pathlib.Path(NDKPING).read_bytes():
        return # it needs more address space than can be limited
    server = Persistent("-P")
    pid = server.process.pid
    limits = resource.prlimit(pid, resource.RLIMIT_AS)
    size = int(re.search(r"VmSize:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024
    resource.prlimit(pid, resource.RLIMIT_AS, (size + 1000000, limits[1])) # less than a thread's stack
    code, text = server.run()
    check("a client without a thread", code == 1, text)
    resource.prlimit(pid, resource.RLIMIT_AS, limits)
    code, text = server.run()
    check("the next client", code == 0, text)
    code = server.end()
    check("a client without a thread has failed", code == 1 and "2 clients, 1 failed" in server.text and
          "starting a client's thread failed" in server.text, (code, server.text))


def interrupts():
    server = Persistent("-P")
    for number in signal.SIGINT, signal.SIGTERM:
        for options, wanted in (("--count", "1000000", "-i", "0.1"), 130), (("-i", "0.1"), 0):
            client = subprocess.Popen([NDKPING, "-C", "-ServerAddr", server.at, *options], stdout=subprocess.PIPE,
                                      text=True)
            text = "".join(client.stdout.readline() for _ in range(7))
            client.send_signal(number)
            text += client.communicate(timeout=LIMIT)[0]
            check(f"signal {number}, {options}", client.returncode == wanted and "until the interrupt" in text and
                  "min/avg/max/mdev" in text, (client.returncode, text))
    client = subprocess.Popen([NDKPING, "-C", "-ServerAddr", server.at, "-i", "60"], stdout=subprocess.PIPE, text=True)
    text = "".join(client.stdout.readline() for _ in range(5))
    code = server.end(signal.SIGINT)
    check("a server with a client that waits", code == 0 and "1 ping" in server.text, (code, server.text))
    text += client.communicate(timeout=LIMIT)[0]
    check("its client notices it", client.returncode == 1 and "peer-closed" in text, text)
    server = Persistent("-P") # sees that its client ends within a ping
    client = subprocess.Popen([NDKPING, "-C", "-ServerAddr", server.at, "-i", "0"], stdout=subprocess.PIPE, text=True)
    text = "".join(client.stdout.readline() for _ in range(20))
    client.send_signal(signal.SIGINT)
    text += client.communicate(timeout=LIMIT)[0]
    check("an interval of 0 pings until the interrupt", client.returncode == 0 and "until the interrupt" in text, text)
    server.end()
    server = Persistent("--clients", "2")
    check("a server that has not served all", server.end() == 130, server.text)


def leavers():
    """A client that disconnects within a ping, as rping does at Ctrl-C, has ended its session: the server succeeds."""
    with Server("-ServerAddr", "127.0.0.1:21021", "-W", "40") as server:
        code = subprocess.run([RPING_PEER, "127.0.0.1:21021", "leave"], input=b"text\0", timeout=LIMIT,
                              check=False).returncode
    check("a client that disconnects within its second ping", (code, server.code) == (0, 0) and
          "1 ping, 10 bytes" in server.text and "failed" not in server.text, (code, server.code, server.text))


def second_interrupts():
    """
    A stopped peer does not disconnect. The first signal's message reports that, and the second signal ends the tool.
    """
    for who, words in ("client", "for the server's disconnect"), ("server", "for the clients' disconnects"):
        server = subprocess.Popen([NDKPING, "-S", "-ServerAddr", "127.0.0.1:0", "-P", "--timeout", "200"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        at = server.stdout.readline().split()[-1]
        client = subprocess.Popen([NDKPING, "-C", "-ServerAddr", at, "-i", "0.1", "--timeout", "200"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6): # the connection and some pings
            client.stdout.readline()
        ended, still = (client, server) if who == "client" else (server, client)
        stop(still)
        ended.send_signal(signal.SIGINT)
        line = ended.stderr.readline()
        check(f"an interrupted {who} whose peer is stopped", line == f"ndkping: interrupted, waiting {words} "
              "(--timeout); a second Ctrl-C ends it at once\n", line)
        ended.send_signal(signal.SIGINT)
        text = ended.communicate(timeout=LIMIT)
        check(f"a {who} that is interrupted twice", ended.returncode == 130, (ended.returncode, text))
        still.kill()
        still.communicate()


def stop_while_pinging(server, *options):
    """Stops the server while a client pings it. Returns the client's time limit, exit code and output."""
    for limit in "1", "10", "60": # a longer one if the limit has ended a step before the server was stopped
        client = subprocess.Popen([NDKPING, "-C", "-ServerAddr", server.at, "-i", "0.3", "--timeout", limit, *options],
                                  env={**os.environ, "ONDK_UNACKED_MS": "900"}, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        text = "".join(client.stdout.readline() for _ in range(5))
        stop(server.process)
        was_pinging = "ping=1 " in text and client.poll() is None
        text += client.communicate(timeout=LIMIT)[0]
        server.process.send_signal(signal.SIGCONT)
        if was_pinging or "STATUS_IO_TIMEOUT" not in text:
            break
    return limit, client.returncode, text


def stopped():
    """A stopped server does not answer, and its host acknowledges. The client gives up by itself."""
    server = Persistent("-P")
    stop(server.process)
    # the kernel completes the TCP connection, but a stopped server does not answer the MPA request
    code, text = server.run("--timeout", "0.5")
    check("a server that was stopped before", code == 1 and "reply-timeout" in text and "Nothing answered in time;"
          not in text, (code, text))
    server.process.send_signal(signal.SIGCONT)
    for options in (), ("--json",):
        limit, code, text = stop_while_pinging(server, *options)
        words = (f"the server did not answer a ping for {limit} s; its host acknowledged it: is its process stopped? "
                 "(ndkstat or ps at the server)")
        check(f"a stopped server, {options}", code == 1 and words in text and
              "NdkReceive failed: STATUS_IO_TIMEOUT" in text, text)
        if options:
            error = json.loads(text[text.index("{"):])["error"]
            check("JSON of it", error["status"] == "STATUS_IO_TIMEOUT" and error["reason_text"] == words, error)
    check("the server goes on", server.run()[0] == 0, "")
    server.end()


def descriptors():
    """A client whose limit of descriptors is too low for one of its steps says so, with what to do."""
    seen = set()
    for limit in range(8, 20):
        p = subprocess.run(["sh", "-c", f"ulimit -n {limit} && exec \"$@\"", "sh", NDKPING, "-C", "-ServerAddr",
                            "127.0.0.1:21020"], capture_output=True, text=True, timeout=LIMIT, check=False)
        words = next((w for w in ("reason 0x00670000 descriptors: ", "ondk_open_adapter failed: ",
                                  "reason 0x00210000 refused: ") if w in p.stdout + p.stderr), "another reason")
        seen.add(words)
        check(f"{limit} descriptors", p.returncode == 1 and words != "another reason" and
              ("refused" in words or "(ulimit -n" in p.stdout + p.stderr), (p.returncode, p.stdout, p.stderr))
    check("too few descriptors, and enough", {"reason 0x00670000 descriptors: ", "reason 0x00210000 refused: "} <= seen,
          seen)


def names():
    code, text = run("-C", "-ServerAddr", "no-such-host.invalid:7174")
    check("an unknown host", code == 1 and "'no-such-host.invalid'" in text, (code, text))
    for address, words in (("localhost:no-such-service", "no TCP service"), ("localhost:99999", "0 to 65535"),
                           ("a b:5", "neither an address nor a name"), ("[::1:5", "bracket"),
                           ("fe80::1%nosuch0:5", "zone"), ("localhost", "port is missing")):
        code, text = run("-C", "-ServerAddr", address)
        check(f"the address {address}", code == 2 and words in text and f"'{address}'" in text, (code, text))
    with Server("-ServerAddr", "localhost:21015", "-W", "40", "-ServerIf", "lo") as server:
        code, text = run("-C", "-SERVERADDR", "localhost:21015", "-clientif", "lo", "-ClientAddr", "localhost")
    check("localhost, an interface by name, switches in another case", (code, server.code) == (0, 0),
          (text, server.text))
    if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL,
                                                     check=False).returncode:
        print("names of a private /etc/hosts: skipped, no mount namespace can be made")
        return
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (("hosts", "::1 two\n127.0.0.1 two\n127.0.0.1 one\n"),
                           ("services", "rdma-ping 21016/tcp\n")):
            (pathlib.Path(directory) / name).write_text(text)
        mounted = ["unshare", "-m", "sh", "-c", f"mount --bind {directory}/hosts /etc/hosts && "
                   f"mount --bind {directory}/services /etc/services && exec \"$@\"", "sh",
                   NDKPING, "-C", "-ServerAddr"]
        for host, tries in ("one", 0), ("two", 1):
            with Server("-ServerAddr", "127.0.0.1:21016", "-W", "40") as server:
                p = subprocess.run([*mounted, f"{host}:rdma-ping"], capture_output=True, text=True, timeout=LIMIT,
                                   check=False)
            check(f"host {host}, service rdma-ping", p.returncode == 0 and server.code == 0 and
                  p.stdout.count("trying the next address") == tries, (p.stdout, p.stderr, server.text))


def addresses():
    """Addresses that the interface does not have, as the server is told."""
    made = [subprocess.run(["ip", *command.split()], stderr=subprocess.DEVNULL, check=False).returncode
            for command in ("link add va type veth peer name vb", "addr add 10.9.1.1/24 dev vb",
                            "addr add fe80::9/64 dev vb nodad", "link set va up", "link set vb up")]
    if any(made):
        print("addresses of another interface: skipped, no interface can be made")
        return
    for address, options, words in (("10.9.1.1:21019", ("-ServerIf", "lo"), "10.9.1.1 belongs to vb, not lo"),
                                    ("127.0.0.1:21019", ("-ServerIf", "vb"), "127.0.0.1 belongs to lo, not vb"),
                                    ("[fe80::9]:21019", (), "needs a zone: fe80::9%vb")):
        code, text = run("-S", "-ServerAddr", address, "-W", "1", *options)
        check(f"the address {address}", code == 1 and words in text and "no interface" not in text, (code, text))
    code, text = run("-C", "-ServerAddr", "[fe80::9]:21019")
    check("a server's address without a zone", code == 1 and "needs a zone" in text, (code, text))
    # a name may have any byte except a blank, a slash and a colon
    subprocess.run([b"ip", b"link", b"set", b"dev", b"vb", b"down"], check=True)
    subprocess.run([b"ip", b"link", b"set", b"dev", b"vb", b"name", b"v\x1b[1m\xff"], check=True)
    subprocess.run([b"ip", b"link", b"set", b"dev", b"v\x1b[1m\xff", b"up"], check=True)
    subprocess.run([b"ip", b"addr", b"replace", b"fe80::9/64", b"dev", b"v\x1b[1m\xff", b"nodad"], check=True)
    p = subprocess.run([NDKPING.encode(), b"-S", b"-ServerAddr", b"[fe80::9%v\x1b[1m\xff]:21019", b"-W", b"0.1",
                        b"--json"], capture_output=True, timeout=LIMIT, check=False)
    check("an interface with a strange name", p.returncode == 4 and b"\x1b" not in p.stdout + p.stderr and
          json.loads(p.stdout)["listening"] == "[fe80::9%v\\x1b[1m\\xff]:21019", p)
    subprocess.run(["ip", "link", "del", "va"], check=True)


def values():
    """
    Sizes and times, which have units: a wrong one is wrong usage, and with a right one nobody listens at the port.
    """
    for option, right, wrong in (
            ("--size", ("24", "1k", "1K", "16M", "1KiB", "64KB", "100B"),
             ("23", "16777217", "17M", "1T", "1.5K", "K", "1Ki", "1Kx", "1 K", "-1K", "18446744073709551615K", "0x40")),
            ("--interval", ("0", "1", ".5", "1.5", "20ms", "7us", "2min", "1H", "24h"),
             ("25h", "1d", "1e3", "0x10", "ms", "1 s", "-1s", "inf", "nan", "", "1..5")),
            ("--sweep", ("24-24", "64-1M"), ("64", "1M-64", "64-", "-64", "64-1M-2M", "1-64", "64-1G"))):
        for value in right + wrong:
            code, text = run("-C", "-ServerAddr", "127.0.0.1:21008", option, value)
            wanted = 1 if value in right else 2
            check(f"{option} {value}", code == wanted and (wanted == 1 or "is not a value" in text), (code, text))


def main():
    for part in (round_trips, formats, many_clients, no_thread, interrupts, leavers, second_interrupts, stopped,
                 descriptors, names, addresses, values):
        part()
    # Ports below what the kernel (32768) and the provider (49152) give out by themselves, and other tests' own.
    texts = pair("windows spelling", "127.0.0.1:21001", ("-ServerIf", LOOPBACK, "-TestType", "rping"),
                 ("-ClientAddr", "127.0.0.1", "-ClientIf", LOOPBACK, "-TestType", "rping", "-V"),
                 client_says=("ping data: rdma-ping-0: ", "1 ping, 128 bytes"))
    for who, text in zip(("server", "client"), texts):
        check(f"windows spelling: {who} ends with completes", text.split()[-1:] == ["completes"], text)
    pair("long options", "127.0.0.1:21002", ("--server-if", LOOPBACK),
         ("--client-addr", "127.0.0.1", "--count", "20", "--size", "100000", "--crc", "off", "--ird", "3", "--ord",
          "2"),
         server_says=("read-limits inbound=2 outbound=3", "20 pings"), client_says=("20 pings, 4000000 bytes",))
    pair("IPv6", "[::1]:21003", client_says=("local [::1]:",))
    pair("private data", "127.0.0.1:21004", ("--private-data", "0badcafe"), ("--private-data", "c0ffee"),
         server_says=("private-data=c0ffee",), client_says=("private-data=0badcafe",))
    pair("reject", "127.0.0.1:21005", ("--reject", "--private-data", "4e4f"), (), codes=(0, 1),
         server_says=("rejected",), client_says=("STATUS_CONNECTION_REFUSED", "0x00220000 rejected: ",
                                                 "private-data=4e4f"))
    for revision in "012":
        agreed = (f"mpa-revision={revision} crc=on",)
        pair(f"revision {revision}", "127.0.0.1:21006", (), ("--mpa-rev", revision), server_says=agreed,
             client_says=agreed)
    agreed = ("mpa-revision=2 crc=off",)
    pair("no CRC", "127.0.0.1:21019", ("--crc", "off"), ("--crc", "off"), server_says=agreed, client_says=agreed)
    own = "this side may have 0 reads in progress (read-limits outbound=0): raise --ord or ONDK_MAX_OUTBOUND_READS here"
    peers = "the peer may have 0 reads in progress (read-limits inbound=0): raise --ird or ONDK_MAX_INBOUND_READS here"
    for server_options, client_options in (("--ord", "0"), ()), ((), ("--ird", "0")):
        texts = pair(f"no reads: {server_options} {client_options}", "127.0.0.1:21017", server_options, client_options,
                     codes=(1, 1), server_says=(own,), client_says=(peers,))
        check("no reads: no other cause", not any("NOT_SUPPORTED" in text or "--size" in text for text in texts), texts)
    pair("the client need not read", "127.0.0.1:21018", ("--ird", "0"), ("--ord", "0"))
    for form in ("none", "zero", "write", "read"):
        pair(f"ready-to-receive {form}", "127.0.0.1:21007", (), ("--rtr", form))

    profiles = ("default", "narrow", "no-windows", "shallow", "minimal")
    for profile in profiles:
        os.environ["ONDK_PROFILE"] = profile
        reads = {"narrow": 8, "no-windows": 8, "shallow": 2, "minimal": 1}.get(profile, 8)
        pair(f"profile {profile}", "127.0.0.1:21013", (), ("--count", "50", "--size", "100000"),
             client_says=(f"read-limits inbound={reads} outbound={reads}", "50 pings"))
        del os.environ["ONDK_PROFILE"]
        pair(f"a client with profile {profile}", "127.0.0.1:21014", (), ("--profile", profile),
             client_says=(f"read-limits inbound={reads} outbound={reads}", "1 ping"))
    code, text = run("--help")
    check("help: profiles", all(profile in text for profile in profiles), text)
    code, text = run("-C", "-ServerAddr", "127.0.0.1:21008")
    check("nobody listens", code == 1 and "STATUS_CONNECTION_REFUSED (0xC0000236)" in text, (code, text))
    check("nobody listens: no counters", "fpdus" not in text, text)
    check("nobody listens: the reason", "reason 0x00210000 refused: Nobody listens" in text, text)
    check("nobody listens: what to check is the reason's, not the status'", "ss -tln there" in text and
          "rejected" not in text, text)
    pair("too large for the server", "127.0.0.1:21012", ("--size", "1000000"), ("--size", "1000001"), codes=(1, 1),
         client_says=("NdkReceive failed: STATUS_", "  reason 0x00240000 peer-closed: The peer disconnected."))
    code, text = run("-C", "-ServerAddr", "127.0.0.1:21008", "-ClientAddr", "127.0.0.1", "-ClientIf", "9999")
    check("no such interface", code == 1 and "ondk_open_adapter failed" in text, (code, text))
    code, text = run("-S", "-ServerAddr", "127.0.0.1:21009", "-W", "1")
    check("nobody comes", code == 4 and "nobody connected" in text, (code, text))
    code, text = run("-S", "-ServerAddr", "192.0.2.77:21009", "-ServerIf", LOOPBACK, "-W", "1")
    check("a foreign address", code == 1 and "STATUS_INVALID_ADDRESS" in text and
          "no interface of this machine has the address 192.0.2.77" in text, (code, text))
    code, text = run("-S", "-ServerAddr", "0.0.0.0:21009", "-W", "1")
    check("the wildcard address", code == 1 and "0.0.0.0 stands for all addresses" in text, (code, text))
    code, text = run("-C", "-ServerAddr", "127.0.0.1:21009", "-ClientAddr", "192.0.2.77")
    check("a foreign address of the client", code == 1 and "has the address 192.0.2.77 (" in text, (code, text))
    with Server("-ServerAddr", "127.0.0.1:21010", "-W", "40") as server:
        code, text = run("-S", "-ServerAddr", "127.0.0.1:21010", "-W", "1")
        client = run("-C", "-ServerAddr", "127.0.0.1:21010")
    check("a taken address", code == 1 and "STATUS_SHARING_VIOLATION" in text and
          f"the address and port are in use by process {server.process.pid} (ndkping)" in text, (code, text))
    check("a taken address: who has it serves on", (client[0], server.code) == (0, 0), (client, server.text))
    for name, options in {"no role": (), "both roles": ("-S", "-C"), "no address": ("-C",),
                          "no port": ("-C", "-ServerAddr", "127.0.0.1"), "odd hex": ("-C", "--private-data", "abc"),
                          "another test": ("-C", "-TestType", "perf"), "unknown option": ("-C", "--nonsense"),
                          "unknown profile": ("-C", "--profile", "wide"),
                          "small size": ("-C", "--size", "3"), "trailing": ("-C", "-ServerAddr", "127.0.0.1:1", "x"),
                          }.items():
        code, text = run(*options)
        check(f"wrong usage, {name}", code == 2 and "ndkping" in text, (code, text))
    code, text = run("--help")
    check("help", code == 0 and "-ServerAddr" in text and "Exit status:" in text, (code, text))
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "log"
        for options, runs in ((("-LogFilename", str(log)), 1), (("-LogFilename", str(log)), 1),
                              (("--log-file", str(log), "-A"), 2)):
            pair("log file", "127.0.0.1:21011", (), options)
            check("log file: runs in it", log.read_text().count("client completes") == runs, log.read_text())
    print(f"{count - failures} passed, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
