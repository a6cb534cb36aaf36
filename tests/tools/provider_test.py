#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkping, ndkperf and ndkinfo over a foreign provider (--provider): a module in which OpenNDK is a second copy, with
objects that the tools' own copy does not know. What the tools know of OpenNDK's objects only, they do not show."""
import json
import os
import pathlib
import re
import subprocess
import sys

NDKPING, NDKPERF, NDKINFO = sys.argv[1:4]
MODULES = pathlib.Path(sys.argv[4])
OPENNDK, NARROW = MODULES / "conform_openndk.so", MODULES / "conform_narrow.so"
WSK = MODULES / "conform_wsk.so" # only in a build with the kernel of drivers
FOREIGN = ("--provider", OPENNDK)
OURS = () # OpenNDK's adapter
LIMIT = 250
failures = 0
count = 0


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def run(*command, env=None):
    p = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=LIMIT,
                       env={**os.environ, **(env or {})})
    return p.returncode, p.stdout, p.stderr


class Server:
    """A server at self.at. Its output is in self.text after the with-block."""

    def __init__(self, *command):
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)
        self.text, self.at = "", "127.0.0.1:1"

    def __enter__(self):
        for line in self.process.stdout:
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


def ping(server, client, address="127.0.0.1:0"):
    """Returns the server, and the client's exit code, JSON object and lines."""
    with Server(NDKPING, "-S", "-ServerAddr", address, "-W", "60", *server) as s:
        code, out, err = run(NDKPING, "-C", "-ServerAddr", s.at, "-n", "3", "--json", *client)
    return s, code, json.loads(out) if out else {}, err


def pings():
    for name, server, client, address in (("both", FOREIGN, FOREIGN, "127.0.0.1:0"),
                                          ("both, IPv6", FOREIGN, FOREIGN, "[::1]:0"),
                                          ("the server", FOREIGN, OURS, "127.0.0.1:0"),
                                          ("the client", OURS, FOREIGN, "127.0.0.1:0")):
        s, code, o, err = ping(server, (*client, "-s", "1M"), address)
        check(f"{name}: exit codes", (s.code, code, o.get("exit"), o.get("pings")) == (0, 0, 0, 3),
              (s.code, s.text, code, o, err))
        for end, text, is_foreign in ("server", s.text, server), ("client", err, client):
            shows = ("fpdus-sent=" in text, "mpa-revision=" in text, "provider OpenNDK " in text)
            check(f"{name}: what the {end} shows", shows == (not is_foreign, not is_foreign, bool(is_foreign)), text)
        check(f"{name}: JSON", ("crc" in o, "mpa_revision" in o, o.get("provider", {}).get("module")) ==
              ((False, False, str(OPENNDK)) if client else (True, True, None)), o)
    with Server(NDKPING, "-S", "-ServerAddr", "127.0.0.1:0", "-W", "60", "--clients", "3", *FOREIGN) as s:
        clients = [subprocess.Popen([NDKPING, "-C", "-ServerAddr", s.at, "-n", "20", *map(str, FOREIGN)],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(3)]
        outs = [c.communicate(timeout=LIMIT)[0] for c in clients]
    check("three clients at once", s.code == 0 and [c.returncode for c in clients] == [0] * 3, (s.text, outs))


def failures_of_a_connection():
    code, out, err = run(NDKPING, "-C", "-ServerAddr", "127.0.0.1:9", "--json", *FOREIGN)
    check("refused: status", code == 1 and json.loads(out)["error"] ==
          {"step": "NdkConnect", "status": "STATUS_CONNECTION_REFUSED"}, (out, err))
    check("refused: no reason of OpenNDK's", "reason 0x" not in err and "start the server" in err, err)
    code, out, err = run(NDKPERF, "client", "--address", "127.0.0.1:9", "--json", *FOREIGN)
    failure = json.loads(out)["failure"]
    check("ndkperf: refused", code == 1 and (failure["status"],
                                             failure["reason"]) == ("STATUS_CONNECTION_REFUSED", None)
          and "reason_code" not in failure, out)
    s, code, o, err = ping((*FOREIGN, "--reject"), FOREIGN)
    check("rejected", (s.code, code) == (0, 1) and "rejected" in s.text, (s.text, o, err))
    s, code, o, err = ping((*FOREIGN, "-s", "64"), (*FOREIGN, "-s", "128"))
    check("too large a ping: exit codes", (s.code, code) == (1, 1), (s.text, o, err))
    check("too large a ping: the code is the provider's own",
          not {"reason", "reason_text"} & set(o["error"]) and "reason 0x" not in err + s.text, (o, err, s.text))
    code, out, err = run(NDKPING, "-S", "-ServerAddr", "192.0.2.77:0", *FOREIGN)
    check("a foreign address is explained as ever", code == 1 and "no interface of this machine" in out, out)
    with Server(NDKPING, "-S", "-ServerAddr", "127.0.0.1:0", "-W", "60", *FOREIGN) as s:
        code, out, err = run(NDKPING, "-S", "-ServerAddr", s.at, *FOREIGN)
        check("an address in use", code == 1 and "STATUS_SHARING_VIOLATION" in out and "ndkping" not in
              out.partition("SHARING")[2], out)
        run(NDKPING, "-C", "-ServerAddr", s.at)


def settings():
    for module in ("off", "on"):
        s, code, o, err = ping(("--crc", "off"), (*FOREIGN, "--crc", module))
        check(f"--crc {module} reaches the module", (s.code, code) == (0, 0) and f" crc={module}\n" in s.text,
              (s.text, err))
    s, code, o, err = ping(OURS, (*FOREIGN, "--mpa-rev", "1", "--rtr", "none", "--timeout", "20"))
    check("--mpa-rev, --rtr and --timeout reach the module", (s.code, code) == (0, 0) and "mpa-revision=1 " in s.text,
          (s.text, err))
    s, code, o, err = ping((*FOREIGN, "--ord", "0"), (*FOREIGN, "--ird", "0"))
    check("no reads: the advice", s.code == 1 and "raise --ord here, or --ird at the peer" in s.text, (s.text, err))
    for option, value in ("--crc", "on"), ("--profile",
                                           "narrow"), ("--timeout", "5"), ("--rtr", "zero"), ("--mpa-rev", "2"):
        code, out, err = run(NDKPING, "-C", "-ServerAddr", "127.0.0.1:9", option, value, "--provider", NARROW)
        check(f"{option} without such a setting", code == 2 and
              re.match(f"ndkping: {option}: the provider narrow cannot set [a-z_]+ to [0-9]+: STATUS_NOT_SUPPORTED\n",
                       err),
              (code, out, err))
    code, out, err = run(NDKPERF, "client", "--address", "127.0.0.1:9", "--profile", "narrow", "--provider", NARROW)
    check("ndkperf: an option without such a setting", code == 2 and "ndkperf: --profile: " in err, err)
    code, out, err = run(NDKINFO, "--profile", "narrow", "--provider", NARROW)
    check("ndkinfo: an option without such a setting", code == 2 and "ndkinfo: --profile: " in err, err)


def loading():
    for name, module, says in (("a missing file", "./no_such.so", "ndkping: no provider: ./no_such.so: cannot open"),
                               ("no symbol", "libm.so.6", "undefined symbol: ndkconform_provider"),
                               ("no shared object", __file__, "ndkping: no provider: "),
                               ("another interface", MODULES / "conform_other_interface.so",
                                "conform_other_interface.so: expected interface 1, saw 2"),
                               ("NULL", MODULES / "conform_unusable.so", "no such card\nndkping: "),
                               ("an incomplete table", MODULES / "conform_incomplete.so", "only set may be NULL")):
        code, out, err = run(NDKPING, "-C", "-ServerAddr", "127.0.0.1:9", "--provider", module)
        check(name, (code, out) == (2, "") and says in err, (code, out, err))
    for command in ((NDKPERF, "client", "--address", "127.0.0.1:9"), (NDKINFO,),
                    (NDKPERF, "perftest", "client", "--address", "127.0.0.1:9", "--test", "send_bw")):
        code, out, err = run(*command, "--provider", "./no_such.so")
        check(f"{command[0]}: a missing file", (code, out) == (2, "") and "no provider: ./no_such.so" in err,
              (out, err))


def info():
    def adapters(*options, env=None):
        code, out, err = run(NDKINFO, "--json", "lo", *options, env=env)
        check(f"ndkinfo {options}", code == 0 and not err, (code, out, err))
        return json.loads(out)

    ours, foreign = adapters(), adapters(*FOREIGN)
    check("the same adapter", ours["adapters"] == foreign["adapters"], (ours, foreign))
    check("whose it is", "provider" not in ours and foreign["provider"]["name"] == "OpenNDK" and
          (ours["profile"], foreign["profile"]) == ("default", None), (ours, foreign))
    narrow = adapters(*FOREIGN, "--profile", "narrow")
    check("a profile reaches the module", narrow["adapters"] == adapters("--profile", "narrow")["adapters"] !=
          ours["adapters"] and narrow["profile"] == "narrow", narrow)
    other = adapters("--provider", NARROW)
    check("another technology", (other["provider"]["name"],
                                 other["adapters"][0]["technology"]) == ("narrow", "RoCE v2"),
          other)
    code, out, err = run(NDKINFO, "--list", *FOREIGN)
    check("the table", code == 0 and out.startswith("provider OpenNDK ") and re.search(r"(?m)^ +\d+ lo +up ", out), out)
    code, out, err = run(NDKINFO, "--csv", *FOREIGN)
    check("CSV", code == 0 and out.startswith("index,interface,") and out == run(NDKINFO, "--csv")[1], out)
    code, out, err = run(NDKINFO, "-v", "lo", *FOREIGN)
    check("everything", code == 0 and "MaxCqDepth" in out and "  profile " not in out, out)


def perf():
    for options in ((), ("--check", "--qp", "3"), ("--test", "write", "--latency"),
                    ("--test", "read", "--latency", "-e"),
                    ("--test", "send", "--bidirectional")):
        with Server(NDKPERF, "server", "--address", "127.0.0.1:0", "-W", "60", *FOREIGN) as s:
            code, out, err = run(NDKPERF, "client", "--address", s.at, "-n", "100", "--warmup", "0.01", "--json",
                                 *options, *FOREIGN)
        o = json.loads(out)
        check(f"ndkperf {options}", (s.code, code, len(o["results"])) == (0, 0, 1), (s.text, out, err))
        check(f"ndkperf {options}: JSON", o["crc"] is None and o["provider"]["name"] == "OpenNDK", out)
    with Server(NDKPERF, "server", "--address", "127.0.0.1:0", "-W", "60", *FOREIGN) as s:
        code, out, err = run(NDKPERF, "client", "--address", s.at, "-n", "100", "--warmup", "0.01", "--crc", "off",
                             *FOREIGN)
    check("ndkperf: lines", (s.code, code) == (0, 0) and "\nprovider OpenNDK " in "\n" + out and
          " CRC             : off" in
          out, out)
    for test in "send_bw", "write_lat", "read_bw":
        common = ("--test", test, "-n", "50", *FOREIGN)
        with Server(NDKPERF, "perftest", "server", "--address", "127.0.0.1:18515", "-W", "60", *common) as s:
            code, out, err = run(NDKPERF, "perftest", "client", "--address", s.at, "--json", *common)
        o = json.loads(out)
        check(f"perftest {test}", (s.code, code, o["crc"], o["provider"]["version"]) == (0, 0, None, o["version"]),
              (s.text, out, err))
        check(f"perftest {test}: lines", " CRC " not in s.text and "provider OpenNDK" in s.text, s.text)


def through_wsk():
    """OpenNDK as drivers see it: every object is a proxy, which no function of OpenNDK's could use."""
    if not WSK.exists():
        print("without conform_wsk.so: the build has no kernel for drivers")
        return
    module = ("--provider", WSK)
    s, code, o, err = ping(module, module)
    check("ndkping through Winsock Kernel", (s.code, code, o.get("pings")) == (0, 0, 3), (s.text, o, err))
    with Server(NDKPERF, "server", "--address", "127.0.0.1:0", "-W", "60", *module) as s:
        code, out, err = run(NDKPERF, "client", "--address", s.at, "-n", "100", "--warmup", "0.01", *module)
    check("ndkperf through Winsock Kernel", (s.code, code) == (0, 0), (s.text, out, err))
    code, out, err = run(NDKINFO, "lo", *module)
    check("ndkinfo through Winsock Kernel", code == 0 and "1.2, 2.1" in out, (out, err))


os.environ.pop("ONDK_PROFILE", None)
pings()
failures_of_a_connection()
settings()
loading()
info()
perf()
through_wsk()
print(f"{count - failures} checks passed, {failures} failed")
sys.exit(failures != 0)
