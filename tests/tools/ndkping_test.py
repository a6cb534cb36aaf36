#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkping: command lines in both spellings, exit codes, output, log files."""
import os
import pathlib
import subprocess
import sys
import tempfile

NDKPING = sys.argv[1]
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


def pair(name, address, server_options=(), client_options=(), codes=(0, 0), server_says=(), client_says=()):
    with Server("-ServerAddr", address, "-W", "40", *server_options) as server:
        code, text = run("-C", "-ServerAddr", address, *client_options)
    check(f"{name}: exit codes", (server.code, code) == codes, (server.code, server.text, code, text))
    for wanted in server_says:
        check(f"{name}: server says {wanted}", wanted in server.text, server.text)
    for wanted in client_says:
        check(f"{name}: client says {wanted}", wanted in text, text)
    return server.text, text


def main():
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
        pair(f"revision {revision}", "127.0.0.1:21006", (), ("--mpa-rev", revision))
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
    check("nobody listens: the reason", "reason 0x00210000 refused: Nobody listens" in text, text)
    pair("too large for the server", "127.0.0.1:21012", ("--size", "1000000"), ("--size", "1000001"), codes=(1, 1),
         client_says=("NdkReceive failed: STATUS_", "  reason 0x00240000 peer-closed: The peer disconnected."))
    code, text = run("-C", "-ServerAddr", "127.0.0.1:21008", "-ClientAddr", "127.0.0.1", "-ClientIf", "9999")
    check("no such interface", code == 1 and "ondk_open_adapter failed" in text, (code, text))
    code, text = run("-S", "-ServerAddr", "127.0.0.1:21009", "-W", "1")
    check("nobody comes", code == 4 and "nobody connected" in text, (code, text))
    code, text = run("-S", "-ServerAddr", "192.0.2.77:21009", "-ServerIf", LOOPBACK, "-W", "1")
    check("a foreign address", code == 1 and "STATUS_INVALID_ADDRESS" in text, (code, text))
    with Server("-ServerAddr", "127.0.0.1:21010", "-W", "40") as server:
        code, text = run("-S", "-ServerAddr", "127.0.0.1:21010", "-W", "1")
        client = run("-C", "-ServerAddr", "127.0.0.1:21010")
    check("a taken address", code == 1 and "STATUS_SHARING_VIOLATION" in text, (code, text))
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
