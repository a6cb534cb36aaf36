#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tools and examples break no rule of NDK and get no advice: each of their processes runs with
ONDK_VERIFY=stop,full,stall=0,output=FILE, and FILE must not exist afterwards. The file of junit= must exist, because it
shows that the verifier was there. With stall=0 no call is reported for its duration, which depends on the machine."""
import concurrent.futures
import itertools
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

NDKPING, NDKPERF, NDKINFO = sys.argv[1:4]
MODULES, EXAMPLES, SCRIPTS = map(pathlib.Path, sys.argv[4:7])
FOREIGN = ("--provider", str(MODULES / "conform_openndk.so"))
WSK = MODULES / "conform_wsk.so" # only in a build with the kernel of drivers
SHORT = ("-n", "100", "--warmup", "0.01")
AT_ONCE = 2 # pairs of processes
LIMIT = 250
TEMPORARY = tempfile.TemporaryDirectory()
DIRECTORY = pathlib.Path(TEMPORARY.name)
numbers = itertools.count()
ports = itertools.count(21200) # for servers that cannot choose one
failures = 0
count = 0


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw:\n{seen if isinstance(seen, str) else repr(seen)}", flush=True)


class Verifier:
    """The files of one process. `environment` turns its verifier on."""

    def __init__(self, options="stop,full,stall=0"):
        number = next(numbers)
        self.output, self.junit = DIRECTORY / f"{number}.txt", DIRECTORY / f"{number}.xml"
        self.environment = {**os.environ, "ONDK_VERIFY": f"{options},output={self.output},junit={self.junit}"}

    def reports(self):
        return self.output.read_text() if self.output.exists() else ""

    def check(self, name):
        check(f"{name}: no report", not self.output.exists(), self.reports())
        check(f"{name}: the verifier was there", self.junit.exists(), "no file of junit=")


class End:
    """One process of a tool. With `listens`, the with-block begins when the server listens at self.at."""

    def __init__(self, command, listens=False):
        self.verifier, self.listens, self.text, self.at = Verifier(), listens, "", ""
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env=self.verifier.environment)

    def __enter__(self):
        for line in self.process.stdout if self.listens else ():
            self.text += line
            if line.startswith("listening on "):
                self.at = line.split()[-1]
                break
        return self

    def __exit__(self, *_):
        try:
            self.text += self.process.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.text += self.process.communicate()[0] + "(had to be ended)"
        self.code = self.process.returncode


def single(name, *command, code=0):
    with End(command) as end:
        pass
    check(f"{name}: exit code", end.code == code, (end.code, end.text))
    end.verifier.check(name)


def pair(name, server, client, codes=(0, 0), interrupt=None):
    """Runs a server and its client, whose words have no address yet. `interrupt`: which of them gets a Ctrl-C."""
    with End(server, listens=True) as s:
        with End(word.replace("AT", s.at) if isinstance(word, str) else word for word in client) as c:
            if interrupt == "client":
                c.text += "".join(c.process.stdout.readline() for _ in range(6)) # the connection and a ping
                c.process.send_signal(signal.SIGINT)
        if interrupt == "server":
            s.process.send_signal(signal.SIGINT)
    check(f"{name}: exit codes", (s.code, c.code) == codes, f"{s.code}, {c.code}\n{s.text}{c.text}")
    s.verifier.check(f"{name}, server")
    c.verifier.check(f"{name}, client")


def ping(name, server=(), client=(), **rest):
    pair(f"ndkping {name}", (NDKPING, "-S", "-ServerAddr", "127.0.0.1:0", "-W", "60", *server),
         (NDKPING, "-C", "-ServerAddr", "AT", *client), **rest)


def perf(options, both=(), **rest):
    pair(f"ndkperf {' '.join((*options, *both))}",
         (NDKPERF, "server", "--address", "127.0.0.1:0", "-W", "60", *both),
         (NDKPERF, "client", "--address", "AT", *SHORT, *options, *both), **rest)


def perftest(test, options=()):
    common = ("--test", test, "-n", "100", *options)
    pair(f"ndkperf perftest {' '.join(common)}",
         (NDKPERF, "perftest", "server", "--address", f"127.0.0.1:{next(ports)}", "-W", "60", *common),
         (NDKPERF, "perftest", "client", "--address", "AT", *common))


def pings():
    yield lambda: ping("once")
    yield lambda: ping("often", ("-TestType", "rping"), ("-TestType", "rping", "-n", "100", "-s", "1M", "-V"))
    yield lambda: ping("persistent", ("-P",), ("-n", "5"), codes=(0, 0), interrupt="server")
    yield lambda: ping("sweep", (), ("-n", "3", "--sweep", "64-64K"))
    yield lambda: ping("interrupted", (), ("-i", "0.2"), interrupt="client")
    yield lambda: ping("rejected", ("--reject", "--private-data", "aa"), (), codes=(0, 1))
    yield lambda: ping("too large", ("-s", "64"), ("-s", "128"), codes=(1, 1))
    yield lambda: ping("no reads", ("--ord", "0"), ("--ird", "0"), codes=(1, 1))
    yield lambda: ping("the least profile", ("--profile", "minimal"), ("--profile", "minimal", "-n", "9"))
    yield lambda: ping("MPA revision 1", (), ("--mpa-rev", "1", "--rtr", "none", "-n", "9"))
    yield lambda: ping("foreign", FOREIGN, (*FOREIGN, "-n", "9"))
    yield lambda: ping("foreign, rejected", (*FOREIGN, "--reject"), FOREIGN, codes=(0, 1))
    yield lambda: single("ndkping without a server", NDKPING, "-C", "-ServerAddr", "127.0.0.1:9", code=1)
    yield lambda: single("ndkping without a client", NDKPING, "-S", "-ServerAddr", "127.0.0.1:0", "-W", "0.1", code=4)


def perfs():
    for test in "send", "write", "read", "rperf":
        for options in (), ("--check", "-q", "3", "-s",
                            "1000"), ("-e",), ("-t", "1", "-s", "1"), ("-I", "64", "-s", "64"):
            yield lambda test=test, options=options: perf(("--test", test, *options))
    for test in "send", "write", "read":
        for options in (), ("--check", "-q", "3"), ("-e",), ("--interval", "0.02", "-D", "0.1"):
            yield lambda test=test, options=options: perf(("--test", test, "--bidirectional", *options))
        for options in (), ("--check", "-q", "3", "-s", "100"):
            yield lambda test=test, options=options: perf(("--test", test, "--latency", *options))
    for test in "send", "read":
        yield lambda test=test: perf(("--test", test, "--latency"), ("-e",))
    yield lambda: perf(("-a", "--limit", "64K"))
    yield lambda: perf(("--check", "-q", "2"), ("-e", "--profile", "shallow"))
    yield lambda: perf(("--check", "--corrupt", "--test", "send"), codes=(3, 3))
    yield lambda: perf(("-D", "60"), interrupt="client", codes=(0, 130))
    for options in (("--test", "send", "--latency"), ("--test", "rperf", "--check", "-q", "3"),
                    ("--test", "send", "--bidirectional", "-e")):
        yield lambda options=options: perf(options, FOREIGN)
    yield lambda: single("ndkperf without a server", NDKPERF, "client", "--address", "127.0.0.1:9", code=1)
    yield lambda: single("ndkperf without a client", NDKPERF, "server", "--address", "127.0.0.1:0", "-W", "0.1", code=4)
    yield lambda: single("perftest without a server", NDKPERF, "perftest", "client", "--address", "127.0.0.1:9",
                         "--test", "send_bw", code=1)
    yield lambda: single("perftest without a client", NDKPERF, "perftest", "server", "--address",
                         f"127.0.0.1:{next(ports)}", "--test", "send_bw", "-W", "0.1", code=4)
    for test in "send_bw", "send_lat", "write_bw", "write_lat", "read_bw", "read_lat":
        yield lambda test=test: perftest(test)
    yield lambda: perftest("send_bw", FOREIGN)


def infos():
    for options in (), ("lo",), ("--json", "lo"), ("-v",), ("-v", "lo", *FOREIGN), ("--list", *FOREIGN):
        yield lambda options=options: single(f"ndkinfo {' '.join(options)}", NDKINFO, *options)


def through_wsk():
    """OpenNDK as drivers see it."""
    if not WSK.exists():
        print("without conform_wsk.so: the build has no kernel for drivers")
        return
    module = ("--provider", str(WSK))
    yield lambda: ping("through Winsock Kernel", module, (*module, "-n", "3"))
    yield lambda: perf(("--test", "send", "--latency"), module)
    yield lambda: single("ndkinfo through Winsock Kernel", NDKINFO, "lo", *module)


def examples():
    """The tests of examples/, which check what the programs print."""
    for script in "test_examples", "test_server":
        verifier = Verifier()
        p = subprocess.run([SCRIPTS / script, EXAMPLES], capture_output=True, text=True, timeout=LIMIT,
                           env=verifier.environment)
        check(f"{script}: exit code", p.returncode == 0, p.stdout + p.stderr)
        verifier.check(script)


def reports():
    """A wait that the verifier reports: a tool's adapter is behind the verifier, and the reports are in the file."""
    for name, provider in ("OpenNDK", ()), ("foreign", FOREIGN):
        verifier = Verifier("report,full,stall=100")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            p = subprocess.run([NDKPING, "-C", "-ServerAddr", f"127.0.0.1:{silent.getsockname()[1]}", "--timeout", "1",
                                *provider], capture_output=True, text=True, timeout=LIMIT, env=verifier.environment)
        check(f"{name}: a stall", p.returncode == 1 and re.search(r"^\*\*\* NDK advice: stall in NdkConnect: ",
                                                                  verifier.reports(), re.M),
              verifier.reports() + p.stderr)


for variable in "ONDK_PROFILE", "ONDK_VERIFY":
    os.environ.pop(variable, None)
with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
    runs = [pool.submit(run) for part in (pings, perfs, infos, through_wsk) for run in part()]
    for run in runs:
        run.result()
examples()
reports()
print(f"{count - failures} checks passed, {failures} failed")
sys.exit(failures != 0)
