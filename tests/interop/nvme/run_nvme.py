#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs NVMe over Fabrics between Linux in a QEMU guest and the samples on this machine.

    run_nvme.py --alone                     the guest with itself, which proves the guest
    run_nvme.py --target COMMAND            Linux' nvme-rdma with samples/nvme-target
    run_nvme.py --initiator COMMAND         samples/nvme-initiator with Linux' nvmet-rdma
    run_nvme.py --list

    [--ndktrace PATH] [--only NAME]... [--cache DIR] [--verbose]

Exit status 0 when all passed, 1 when one failed, 77 when there is no guest to be had here.
"""
import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import guest_alone
import linux_host
import linux_target
from peers import HERE, Failed, Machine, Network, Peers

SETS = {"alone": guest_alone, "target": linux_host, "initiator": linux_target}


def build_guest(cache):
    """Builds the guest and what NVMe needs. Returns None, or the reason why it cannot be had."""
    done = subprocess.run([os.path.join(HERE, "build.sh"), cache], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode == 77:
        return done.stdout.strip()
    if done.returncode:
        sys.exit(f"the guest does not build:\n{done.stdout}")
    return None


def run_scenario(peers, scenario):
    """Returns what went wrong or None, and what the scenario has to say."""
    try:
        return None, scenario(peers)
    except Failed as e:
        return str(e), None
    except (OSError, subprocess.SubprocessError, ValueError):
        return traceback.format_exc(), None


def run_all(opt, scenarios):
    failed = 0
    for which, name, scenario in scenarios:
        begun = time.monotonic()
        problem, note = run_scenario(which, scenario)
        failed += problem is not None
        took = f" ({time.monotonic() - begun:.1f} s)" if opt.verbose else ""
        print(f"{name}: {'FAILED: ' + problem if problem else 'passed'}{', ' + note if note else ''}{took}", flush=True)
        if problem:
            which.machine.kill()     # the next scenario boots a new guest
    print(f"{len(scenarios) - failed} passed, {failed} failed")
    return 1 if failed else 0


def arguments():
    p = argparse.ArgumentParser(description="the NVMe samples against Linux")
    p.add_argument("--alone", action="store_true", help="the guest with itself")
    for name in SETS:
        if name != "alone":
            p.add_argument("--" + name, type=shlex.split, metavar="COMMAND", help=f"run the scenarios of the {name}")
    p.add_argument("--ndktrace", type=shlex.split, metavar="PATH", help="for the scenarios *-capture")
    p.add_argument("--only", action="append", metavar="NAME", help="this scenario only (repeatable)")
    p.add_argument("--cache", default=os.path.expanduser("~/.cache/openndk/siw-guest"))
    p.add_argument("--list", action="store_true", help="print the scenarios")
    p.add_argument("--verbose", action="store_true", help="print how long each took")
    opt = p.parse_args()
    names = [name for module in SETS.values() for name in module.SCENARIOS]
    unknown = set(opt.only or ()) - set(names)
    if unknown:
        p.error(f"no such scenario: {', '.join(sorted(unknown))}")
    if opt.list:
        print("\n".join(names))
        sys.exit(0)
    if not any(getattr(opt, name) for name in SETS):
        p.error(f"at least one of --{', --'.join(SETS)} is required")
    return opt


def main():
    opt = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # the guest ends with us
    reason = build_guest(opt.cache)
    if reason:
        print(f"skipped: {reason}")
        return 77
    Network.enter()
    with tempfile.TemporaryDirectory() as directory:
        machines, scenarios = [], []
        for name, module in SETS.items():
            if getattr(opt, name):
                machine = Machine(opt.cache)
                machines.append(machine)
                peers = Peers(machine, directory, getattr(opt, name), opt.ndktrace)
                scenarios += [(peers, n, s) for n, s in module.SCENARIOS.items() if not opt.only or n in opt.only]
        try:
            return run_all(opt, scenarios)
        finally:
            for machine in machines:
                machine.kill()


if __name__ == "__main__":
    sys.exit(main())
