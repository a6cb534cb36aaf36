#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks with Wireshark's dissector that a capture has NVMe over Fabrics.

    check_nvme.py CAPTURE --port N [--commands NAME,...]

Status 0: each message of a client of port N is dissected as a command, each message of the server as the completion of
such a command, nothing is malformed, and each command of the list occurs. 1: the difference is printed. 77: no tshark.

The dissector is called for InfiniBand only, so to_roce.py rewrites the capture first.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from to_roce import convert

INFO = re.compile(r"^RC Send Only.*\| NVMe(?:O[Ff])? (CQE for )?(.*\S)\s*$")


def dissect(path, port):
    """Returns how often each command and each completion occurs, and the lines that Wireshark calls malformed."""
    command = ["tshark", "-r", path, "-o", f"nvme-rdma.subsystem_ports:{port}", "-T", "fields", "-e", "_ws.col.Info"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
                           check=True).stdout.splitlines()
    commands, completions = collections.Counter(), collections.Counter()
    for match in filter(None, map(INFO.match, lines)):
        (completions if match.group(1) else commands)[match.group(2)] += 1
    return commands, completions, [line for line in lines if "alformed" in line]


def differences(capture, port, wanted=()):
    """Returns what is wrong as a list of sentences, and the commands by name."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "roce.pcap")
        n_capsules, n_responses, n_connections = convert(capture, path)
        commands, completions, malformed = dissect(path, port)
    found = []
    if not n_connections or not n_capsules:
        found.append(f"expected connections with capsules, saw {n_connections} with {n_capsules}")
    for what, seen, counted in (("commands", commands, n_capsules), ("completions", completions, n_responses)):
        if sum(seen.values()) != counted:
            found.append(f"expected {counted} {what}, saw {sum(seen.values())}: {dict(seen)}")
    found += [f"completions of {name} without a command" for name in sorted(set(completions) - set(commands))]
    found += [f"no command {name}, saw {sorted(commands)}" for name in wanted if name not in commands]
    return found + malformed[:5], commands


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("capture")
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--commands", default="", type=lambda text: [name for name in text.split(",") if name])
    opt = p.parse_args()
    if not shutil.which("tshark"):
        print("skipped: no tshark")
        return 77
    found, commands = differences(opt.capture, opt.port, opt.commands)
    print("\n".join(found) or "\n".join(f"{count:6} {name}" for name, count in sorted(commands.items())))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
