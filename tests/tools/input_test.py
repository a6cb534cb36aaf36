#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkping and ndkperf with invalid input and output: numbers out of range, unknown variables, a full disk, and a
peer whose bytes a terminal would interpret."""
import os
import re
import subprocess
import sys
import time

NDKPING, NDKPERF, RPING_PEER = sys.argv[1:4]
LIMIT = 250
failures = 0
count = 0


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def run(*command, env=None, **more):
    p = subprocess.run(command, capture_output="stdout" not in more, text=True, timeout=LIMIT,
                       env={**os.environ, **(env or {})}, stderr=subprocess.PIPE if "stdout" in more else None, **more)
    return p.returncode, p.stdout or "", p.stderr


ROLES = {NDKPING: (("-S", "-ServerAddr"), ("-C", "-ServerAddr")),
         NDKPERF: (("server", "--address"), ("client", "--address"))}


class Server:
    """A server on an automatic port: self.at. Its output is in self.text after the with-block."""

    def __init__(self, program, *options, **more):
        self.process = subprocess.Popen([program, *ROLES[program][0], "127.0.0.1:0", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, **more)

    def __enter__(self):
        self.text = self.process.stdout.readline().decode()
        found = re.fullmatch(r"listening on (127\.0\.0\.1:\d+)\n", self.text)
        self.at = found[1] if found else "127.0.0.1:0"
        return self

    def __exit__(self, *_):
        try:
            self.raw = self.process.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.raw = self.process.communicate()[0] + b"(had to be ended)"
        self.code = self.process.returncode
        self.text += self.raw.decode(errors="replace")


def port_zero():
    for program, options in (NDKPING, ()), (NDKPERF, ("-n", "10", "--warmup", "0")):
        with Server(program) as s:
            check(f"{program}: a server says which port it got", not s.at.endswith(":0"), s.text)
            code, out, err = run(program, *ROLES[program][1], s.at, *options)
            if code:
                s.process.kill()
        check(f"{program}: that port works", (code, s.code) == (0, 0), (out, err, s.text))
        code, out, err = run(program, *ROLES[program][1], "127.0.0.1:0")
        check(f"{program}: a client must name a port", code == 2 and "not 0" in err, (code, out, err))


def numbers():
    for address in ("127.0.0.1:99999", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+5", "127.0.0.1: 5",
                    "127.0.0.1:5x",
                    "127.0.0.1:18446744073709551617", "[::1]:99999", "[::1]:", "127.0.0.1", ":5", "1.2.3:x:5"):
        for program in (NDKPING, NDKPERF):
            for role in ROLES[program]:
                code, out, err = run(program, *role, address, *(("-W", "1") if role == ROLES[program][0] else ()))
                check(f"{program} {role[0]} {address}", code == 2 and "Try" in err, (code, out, err))
    here = "127.0.0.1:21201"
    for value in ("4294967297", "18446744073709551617", "-18446744073709551615", "-1", "+1", " 1", "1 ", "1x", "0x10",
                  ""):
        for option in ("--count", "--size", "--ird", "--ord", "-W", "-ServerIf", "-ClientIf", "--timeout", "--mpa-rev"):
            code, out, err = run(NDKPING, *ROLES[NDKPING][1], here, option, value)
            check(f"ndkping {option} '{value}'", code == 2 and "is not a value" in err, (code, out, err))
        for option in ("-s", "-q", "-t", "-n", "-I", "-W", "--burst", "--limit", "--ird", "--ord", "--memory",
                       "--protocol",
                       "-ServerIf", "--moderation"):
            given = value + ",5" if option == "--moderation" else value
            code, out, err = run(NDKPERF, *ROLES[NDKPERF][1], here, option, given)
            check(f"ndkperf {option} '{given}'", code == 2 and "is not a value" in err, (code, out, err))
    for value in ("-1", "+1", " 1", "1 ", "nan", "inf", "1e400", "86401", ""):
        for option in ("-D", "--warmup"):
            code, out, err = run(NDKPERF, *ROLES[NDKPERF][1], here, option, value)
            check(f"ndkperf {option} '{value}'", code == 2 and "is not a value" in err, (code, out, err))
    with Server(NDKPING, "-W", "4294968") as s: # as milliseconds more than 32 bits hold: 704 ms if they wrap
        time.sleep(1.5)
        code, out, err = run(NDKPING, "-C", "-ServerAddr", s.at)
    check("a server waits for as long as it was told", (code, s.code) == (0, 0), (out, err, s.text))


def sizes():
    with Server(NDKPING) as s:
        code, out, err = run(NDKPING, "-C", "-ServerAddr", s.at, "--size", "16777216")
    check("the largest ping, with defaults", (code, s.code) == (0, 0), (out, err, s.text))
    with Server(NDKPING, "--size", "1000") as s:
        code, out, err = run(NDKPING, "-C", "-ServerAddr", s.at, "--size", "1001")
    check("a ping that is too large: exit codes", (code, s.code) == (1, 1), (code, s.code))
    check("a ping that is too large: the server names both sizes and the option",
          "requests a ping of 1001 bytes; this server accepts 1 to 1000 (--size" in s.text, s.text)
    check("a ping that is too large: the client names the size and the option",
          "this one has 1001 bytes (--size)" in out, out)
    with Server(NDKPING, "--profile", "minimal") as s:
        code, out, err = run(NDKPING, "-C", "-ServerAddr", s.at, "--size", "1048576")
    check("as large as the server's adapter takes", (code, s.code) == (0, 0), (out, err, s.text))


ODD = b"\x1b]0;owned\x07 \x1b[2J\n\rndkping server completes\x7f\xc2\x9b31m \xc3\xa4\xff\xe2\x80\xae end"


def odd_bytes():
    with Server(NDKPING, "-V") as s:
        code = subprocess.run([RPING_PEER, s.at], input=ODD, timeout=LIMIT, check=False).returncode
    check("a peer with odd bytes", (code, s.code) == (0, 0), (code, s.code, s.text))
    check("a peer with odd bytes: no control characters",
          not re.search(rb"[^\n\t\x20-\x7e\x80-\xff]|\xc2\x9b|\xe2\x80\xae",
                                                                        s.raw), s.raw)
    check("a peer with odd bytes: what they were",
          "server ping data: \\x1b]0;owned\\x07 \\x1b[2J\\x0a\\x0dndkping server "
          "completes\\x7f\\xc2\\x9b31m \u00e4\\xff\\xe2\\x80\\xae end\n" in s.text, s.text)


def environment():
    for variable, value, words in (
            ("ONDK_CONECT_MS", "5", r"ONDK_CONECT_MS=5 is not used: there is no such variable, the nearest is "
                                    r"ONDK_CONNECT_MS\n"),
            ("ONDK_WHAT_EVER_THIS_IS", "5", r"ONDK_WHAT_EVER_THIS_IS=5 is not used: there is no such variable\n"),
            ("ONDK_CONNECT_MS", "0", r"ONDK_CONNECT_MS=0 is not used: a number from 1 to 3600000 is expected\n"),
            ("ONDK_MAX_PRIVATE", "509", r"from 0 to 508 is"),
            ("ONDK_BACKLOG", "12 pieces", r"a number from 1 to \d+ is"),
            ("ONDK_SHARDS", "-1", r"a number from"), ("ONDK_SPIN_US", "99999999999999999999999", r"a number from"),
            ("ONDK_CRC", "\x1b[2Jx" * 100, r"ONDK_CRC=\?\[2Jx\S*\.\.\. is not used"),
            ("ONDK_PROFILE", "wide", r"expected is a profile: default, narrow, no-windows, shallow, minimal\n"),
            ("ONDK_VERIFY", "maybe", r"expected is off, report or stop, and optionally ,full ,json "
                                       r",output=FILE ,junit=FILE ,stall=MS ,exit=STATUS ,advice=RULE\n")):
        for program in (NDKPING, NDKPERF):
            code, out, err = run(program, *ROLES[program][1], "127.0.0.1:21202", env={variable: value})
            check(f"{program} {variable}: exit status", code == 2, (code, out, err))
            check(f"{program} {variable}: told once", err.count("is not used:") == 1 and re.search(words, err) and
                  "\x1b" not in err, err)
    good = {"ONDK_CONNECT_MS": "0x10", "ONDK_CRC": "", "ONDK_PROFILE": "", "ONDK_VERIFY": "off,full,json",
            "ONDKX": "1", "XONDK_CRC": "7"}
    code, out, err = run(NDKPING, "-C", "-ServerAddr", "127.0.0.1:21202", env=good)
    check("variables that are used, and others' own", code == 1 and not err, (code, out, err))


def full_disk():
    if not os.path.exists("/dev/full"):
        print("full_disk: skipped, this system has no /dev/full")
        return
    with open("/dev/full", "w", encoding="ascii") as full:
        for program in (NDKPING, NDKPERF):
            code, out, err = run(program, "--help", stdout=full)
            check(f"{program} --help", code == 6 and "No space left on device" in err, (code, err))
        for options, name in ((("-LogFilename", "/dev/full"), "/dev/full"), ((), "standard output")):
            for program, more in (NDKPING, ()), (NDKPERF, ("-n", "10", "--warmup", "0")), \
                                 (NDKPERF, ("-n", "10", "--warmup", "0", "--format", "json")):
                stdout = subprocess.PIPE if options else full
                with Server(program) as s:
                    code, out, err = run(program, *ROLES[program][1], s.at, *more, *options, stdout=stdout)
                check(f"{program} {more} {options}: exit status", (code, s.code) == (6, 0), (code, err, s.text))
                check(f"{program} {more} {options}: told once", err.count(f"{name}: No space left on device") == 1, err)


def main():
    for name in [name for name in os.environ if name.startswith("ONDK_")]:
        os.environ.pop(name)
    for part in (port_zero, numbers, sizes, odd_bytes, environment, full_disk):
        part()
    print(f"{count - failures} passed, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
