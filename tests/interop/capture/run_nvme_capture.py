#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the NVMe samples with each other over loopback, with payload, and lets check_nvme.py judge both traces.

    run_nvme_capture.py --target build/release/samples/nvme-target --ndkrun build/release/tools/ndkrun
                        --initiator build/release/samples/nvme_initiator.so --ndktrace build/release/tools/ndktrace

The driver writes a block and reads it back. Status: 0 passed, 1 failed, 77 when tshark or the namespace cannot be had.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from check_nvme import differences
from run_capture import enter_namespace, start, wait_for

PORT, NQN = 4420, "nqn.2026-11.org.example:capture"
WANTED = ("Connect", "Identify Controller", "Property Get Controller Capabilities", "Read", "Write")
ENDS = ("target", "host")
BLOCK = bytes(range(256)) * 2


def listens():
    with open("/proc/net/tcp", encoding="ascii") as f:
        return f":{PORT:04X} 00000000:0000 0A" in f.read()


def run_samples(opt, directory):
    """Returns what went wrong, or None."""
    traced = {end: {**os.environ, "ONDK_TRACE": f"{directory}/{end},payload=64000"} for end in ENDS}
    target = start([opt.target, "--listen", f"127.0.0.1:{PORT}", "--nqn", NQN, "--memory", "1M"], traced["target"])
    try:
        wait_for("the target", lambda: listens() or target.poll() is not None)
        command = [opt.ndkrun, "--run-for", "0", "--reg", f"Targets=sz:127.0.0.1:{PORT} {NQN}",
                   "--reg", "IoQueues=dword:1", "--scsi", f"0:0:0 write 5 {BLOCK.hex()}",
                   "--scsi", "0:0:0 read 5 1", opt.initiator]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env=traced["host"])
    finally:
        target.terminate()
        target.communicate()
    return f"expected exit 0 of ndkrun, saw {done.returncode}: {done.stdout}" if done.returncode else None


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("target", "ndkrun", "initiator", "ndktrace"):
        p.add_argument("--" + name, required=True, type=os.path.abspath)
    opt = p.parse_args()
    enter_namespace()
    with tempfile.TemporaryDirectory() as directory:
        problem = run_samples(opt, directory)
        found, commands = [problem] if problem else [], {}
        for end in ENDS if not problem else ():
            more, commands = differences([opt.ndktrace], os.path.join(directory, end), PORT, WANTED)
            found += [f"{end}: {sentence}" for sentence in more]
    print("\n".join(found) or f"{sum(commands.values())} commands, as Wireshark knows them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
