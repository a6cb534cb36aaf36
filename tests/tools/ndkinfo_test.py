#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkinfo: what it shows agrees with the kernel's list of interfaces and with the profile, in each form of output."""
import csv
import io
import json
import os
import socket
import subprocess
import sys

NDKINFO = sys.argv[1]
failures = 0
count = 0


def check(name, condition, seen):
    global failures, count
    count += 1
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def run(*options, **env):
    p = subprocess.run([NDKINFO, *options], capture_output=True, text=True, timeout=250, env={**os.environ, **env})
    return p.returncode, p.stdout, p.stderr


def kernel_interfaces():
    """name -> (index, MTU, set of addresses), as `ip` reports them."""
    listed = json.loads(subprocess.run(["ip", "-j", "address"], capture_output=True, check=True).stdout)
    return {entry["ifname"].partition("@")[0]: (entry["ifindex"], entry["mtu"],
                                                {a["local"] for a in entry["addr_info"]}, "UP" in entry["flags"])
            for entry in listed}


def add_interfaces():
    """In the test's own network namespace: a pair of which one end is up, and the other one down."""
    for command in ("link add up0 type veth peer name down0", "address add 10.9.8.7/24 dev up0",
                    "address add 10.9.9.7/24 dev down0", "link set up0 up"):
        if subprocess.run(["ip", *command.split()], capture_output=True, check=False).returncode:
            return False
    return True


def forms(kernel):
    code, out, err = run("--json")
    whole = json.loads(out)
    check("JSON: who wrote it", list(whole)[:3] == ["tool", "version", "format"] and (whole["tool"], whole["format"]) ==
          ("ndkinfo", 1), out)
    adapters = {a["interface"]: a for a in whole["adapters"]}
    check("JSON: exit code", code == 0 and not err, (code, err))
    for name, (index, mtu, addresses, is_up) in kernel.items():
        a = adapters.get(name)
        if not addresses:
            continue
        check(f"JSON: {name}", a and a["index"] == index and a["mtu"] == mtu, (a, index, mtu))
        check(f"JSON: {name}: addresses", {text.partition("%")[0] for text in a["addresses"]} == addresses, a)
        if is_up:
            check(f"JSON: {name}: up", a["state"] == "up" and a["versions"] == ["1.2", "2.1"] and
                  a["technology"] == "iWARP" and a["info"]["MaxCqDepth"] >= 32, a)
        else:
            check(f"JSON: {name}: down", a["state"] == "down" and a["status"] == "NDIS_STATUS_ADAPTER_NOT_READY" and
                  "info" not in a, a)
    code, out, err = run("--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    check("CSV", code == 0 and {row["interface"]: row["mtu"] for row in rows} ==
          {name: str(a["mtu"]) for name, a in adapters.items()}, out)
    code, out, err = run("-l")
    check("the table", code == 0 and len(out.splitlines()) == len(adapters) + 1 and "127.0.0.1" in out, out)
    code, out, err = run("-v", "lo")
    members = adapters["lo"]["info"]
    check("every limit with -v", code == 0 and all(member in out for member in members), out)
    check("every flag with -v", out.count("\n    yes ") == len(adapters["lo"]["flags"]), out)
    check("no escape sequences without a terminal", "\x1b" not in out, out)


def strange_name():
    """A name may have any byte except a blank, a slash and a colon. No form of output prints such bytes as they are."""
    name, shown = b'a,"\x1b[1m\xff', 'a,"\\x1b[1m\\xff'
    for command in (b"link add", name, b"type veth peer name other0"), (b"address add 10.9.7.7/24 dev", name), (
            b"link set", name, b"up"), (b"link set other0 up",):
        words = [word for part in command for word in ([part] if part == name else part.split())]
        if subprocess.run([b"ip", *words], capture_output=True, check=False).returncode:
            print("no interface with a strange name can be made here")
            return
    index = str(socket.if_nametoindex(os.fsdecode(name)))
    code, out, err = run("--csv", index)
    rows = list(csv.DictReader(io.StringIO(out)))
    check("a strange name as CSV", code == 0 and [row["interface"] for row in rows] == [shown] and None not in rows[0],
          (code, out, err))
    code, out, err = run("--json", index)
    check("a strange name as JSON", code == 0 and [a["interface"] for a in json.loads(out)["adapters"]] == [shown],
          (code, out, err))
    for option in "-v", "-l":
        code, out, err = run(option, index)
        check(f"a strange name with {option}", code == 0 and shown in out and "\x1b" not in out, (code, out, err))


def choice():
    for word in ("lo", "1", "127.0.0.1", "127.9.9.9", "::1"):
        code, out, err = run("--json", word)
        check(f"the interface {word}", code == 0 and [a["interface"] for a in json.loads(out)["adapters"]] == ["lo"],
              (code, out, err))
    for word, words in (("nosuch0", "'nosuch0' is neither"), ("192.0.2.99", "'192.0.2.99' is neither"),
                        ("fe80::1%nosuch0", "zone")):
        code, out, err = run(word)
        check(f"no interface {word}", code == 1 and words in err and not out, (code, out, err))
    code, out, err = run("99999")
    check("no interface 99999", code == 1 and "'99999' has no adapter" in err and not out, (code, out, err))
    code, out, err = run("--json", "99999", "lo", "99998")
    check("no interfaces 99999 and 99998", code == 1 and err.count("has no adapter") == 2 and
          [a["interface"] for a in json.loads(out)["adapters"]] == ["lo"], (code, out, err))


def profiles():
    for how, env in ((("--profile", "minimal"), {}), ((), {"ONDK_PROFILE": "minimal"})):
        code, out, err = run("--json", "lo", *how, **env)
        whole = json.loads(out)
        info = whole["adapters"][0]["info"]
        check(f"profile minimal {how}", whole["profile"] == "minimal" and info["MaxCallerData"] == 0 and
              info["MaxSrqDepth"] == 0 and info["MaxInboundReadLimit"] == 1, whole)
    code, out, err = run("--json", "lo", ONDK_MAX_INBOUND_READS="5")
    check("a limit of the environment", json.loads(out)["adapters"][0]["info"]["MaxInboundReadLimit"] == 5, out)
    code, out, err = run("--profile", "wide")
    check("no such profile", code == 2 and "'wide' is not a value for this option" in err, (code, err))


def wrong_usage():
    for options in ("--json", "--csv"), ("-v", "-l"), ("-v", "--csv"):
        code, out, err = run(*options)
        check(f"{options}", code == 2 and "Try 'ndkinfo --help'" in err and not out, (code, out, err))
    check("-l --csv is --csv", run("-l", "--csv") == run("--csv"), run("-l", "--csv"))


def main():
    if os.environ.pop("NDKINFO_TEST_OWN_NETWORK", None) is None and subprocess.run(
            ["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0:
        os.environ["NDKINFO_TEST_OWN_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", "-rn", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], capture_output=True, check=False)
    if not add_interfaces():
        print("no second interface can be made here: the loopback interface alone is tested")
    forms(kernel_interfaces())
    choice()
    profiles()
    strange_name()
    wrong_usage()
    print(f"{count - failures} passed, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
