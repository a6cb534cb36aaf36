#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks with Wireshark's dissector what a trace with payload has of NVMe over Fabrics.

    check_nvme.py --ndktrace PATH --port N [--commands NAME,...] TRACE

TRACE is one end's trace file. `ndktrace pcap --roce` makes a capture of it. Status 0: each message of the host is
dissected as a command, each message of the controller as the completion of such a command, nothing is malformed, and
each command of the list occurs. 1: the difference is printed. 77: no tshark.
"""
import argparse
import collections
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

INFO = re.compile(r"^RC Send Only.*\| NVMe(?:O[Ff])? (CQE for )?(.*\S)\s*$")


def output_of(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
                          check=True).stdout.splitlines()


def dissect(path, port):
    """Returns how often each command and each completion occurs, and the lines that Wireshark calls malformed."""
    lines = output_of(["tshark", "-r", path, "-o", f"nvme-rdma.subsystem_ports:{port}", "-T", "fields", "-e",
                       "_ws.col.Info"])
    commands, completions = collections.Counter(), collections.Counter()
    for match in filter(None, map(INFO.match, lines)):
        (completions if match.group(1) else commands)[match.group(2)] += 1
    return commands, completions, [line for line in lines if "alformed" in line]


def count_sends(ndktrace, trace):
    """Returns how many messages the initiators and the acceptors of the connections have sent."""
    initiated, counts = set(), {True: 0, False: 0}
    for line in output_of([*ndktrace, "show", "--json", "-e", "connection,untagged", trace]):
        event = json.loads(line)
        fields = event["fields"]
        if event["event"] == "connection" and fields["role"] == "initiated":
            initiated.add(event["connection"])
        elif event["event"] == "untagged" and fields["opcode"].startswith("send") and fields["last"]:
            counts[(event["connection"] in initiated) == (fields["direction"] == "sent")] += 1
    return counts[True], counts[False]


def differences(ndktrace, trace, port, wanted=()):
    """Returns what is wrong as a list of sentences, and the commands by name."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "roce.pcapng")
        subprocess.run([*ndktrace, "pcap", "--roce", "-o", path, trace], check=True, stderr=subprocess.DEVNULL)
        commands, completions, malformed = dissect(path, port)
    n_capsules, n_responses = count_sends(ndktrace, trace)
    found = [] if n_capsules else ["expected capsules, saw none"]
    for what, seen, counted in (("commands", commands, n_capsules), ("completions", completions, n_responses)):
        if sum(seen.values()) != counted:
            found.append(f"expected {counted} {what}, saw {sum(seen.values())}: {dict(seen)}")
    found += [f"completions of {name} without a command" for name in sorted(set(completions) - set(commands))]
    found += [f"no command {name}, saw {sorted(commands)}" for name in wanted if name not in commands]
    return found + malformed[:5], commands


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("trace")
    p.add_argument("--ndktrace", type=shlex.split, required=True)
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--commands", default="", type=lambda text: [name for name in text.split(",") if name])
    opt = p.parse_args()
    if not shutil.which("tshark"):
        print("skipped: no tshark")
        return 77
    found, commands = differences(opt.ndktrace, opt.trace, opt.port, opt.commands)
    print("\n".join(found) or "\n".join(f"{count:6} {name}" for name, count in sorted(commands.items())))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
