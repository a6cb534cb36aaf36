#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures ndkping talking to ndkping over loopback and lets check_capture.py judge the captures.

    run_capture.py --ndkping build/ndkping [--ndktrace build/ndktrace]

Both ends print `fpdus-sent=N`; tshark has to find as many as both together. With --ndktrace, both ends also record
their payload, and the capture that `ndktrace pcap` makes of each trace must have every byte of the wire. All happens in
a network namespace of our own, so that no root is needed and no foreign packet is in the capture.
Status: 0 passed, 1 failed, 77 when tshark, dumpcap or the namespace cannot be had.
"""
# covers: WIR-03
import argparse
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from check_capture import differences

PORT, LIMIT = 50174, 250
INSIDE = "OPENNDK_CAPTURE_NAMESPACE"
# Options of both ends, of the client alone, revision.
CASES = [
    ("revision 1, CRC on", ["--crc", "on"], ["--mpa-rev", "1"], 1),
    ("revision 1, CRC off", ["--crc", "off"], ["--mpa-rev", "1"], 1),
    *[(f"revision 2, ready-to-receive {form}, CRC on", ["--crc", "on"], ["--mpa-rev", "2", "--rtr", form], 2)
      for form in ("none", "zero", "write", "read")],
    ("private data, CRC on", ["--crc", "on", "--private-data", bytes(range(252)).hex()], [], 2),
]


def enter_namespace():
    """Runs this script again as root of a network namespace of its own; returns only inside."""
    if os.environ.get(INSIDE):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    missing = [tool for tool in ("tshark", "dumpcap", "unshare", "ip") if not shutil.which(tool)]
    if missing:
        print(f"skipped: no {', '.join(missing)}")
        sys.exit(77)
    unshare = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    probe = subprocess.run([*unshare, "true"], stderr=subprocess.PIPE, text=True)
    if probe.returncode:
        print(f"skipped: no network namespace: {probe.stderr.strip()}")
        sys.exit(77)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*unshare, sys.executable, *sys.argv])


def wait_for(what, true):
    deadline = time.monotonic() + LIMIT
    while not true():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {LIMIT} s for {what}")
        time.sleep(0.02)


class Recorder:
    """dumpcap on lo. It delivers packets in blocks, so start and end are each a datagram seen in the file."""

    def __init__(self, path):
        self.path, self.socket = path, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.process = subprocess.Popen(["dumpcap", "-q", "-P", "-B", "256", "-i", "lo", "-w", path],
                                        stderr=subprocess.PIPE)
        try:
            self.see(b"capture starts", repeat=True)
        except RuntimeError:
            self.process.kill()
            raise RuntimeError(f"dumpcap: {self.process.communicate()[1].decode().strip()}") from None

    def see(self, mark, repeat=False):
        self.socket.sendto(mark, ("127.0.0.1", 9))

        def seen():
            if self.process.poll() is not None:
                raise RuntimeError("dumpcap has ended")
            if repeat:
                self.socket.sendto(mark, ("127.0.0.1", 9))
            if not os.path.exists(self.path):
                return False
            with open(self.path, "rb") as f:
                return mark in f.read()
        wait_for(f"{mark} in the capture", seen)

    def stop(self):
        try:
            self.see(b"capture ends")
        finally:
            self.process.send_signal(signal.SIGINT)
            self.process.communicate()
            self.socket.close()


def port_is_listened_on():
    with open("/proc/net/tcp", encoding="ascii") as f:
        return f":{PORT:04X} 00000000:0000 0A" in f.read()


def start(command, environment=None):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, env=environment)


def run_pair(ndkping, both, client):
    """How many FPDUs the two ends say they sent."""
    interface, address = str(socket.if_nametoindex("lo")), f"127.0.0.1:{PORT}"
    server = start([*ndkping, "-S", "-ServerAddr", address, "-ServerIf", interface, "-TestType", "rping",
                    "-W", str(LIMIT), *both])
    ends = [server]
    try:
        wait_for("the server", lambda: port_is_listened_on() or server.poll() is not None)
        ends.append(start([*ndkping, "-C", "-ServerAddr", address, "-ClientAddr", "127.0.0.1", "-ClientIf", interface,
                           "-TestType", "rping", "-V", *both, *client]))
        outputs = [ends[1].communicate(timeout=LIMIT)[0]]
        if ends[1].returncode:
            server.terminate()
        outputs.append(server.communicate(timeout=LIMIT)[0])
    finally:
        for end in ends:
            if end.poll() is None:
                end.kill()
                end.communicate()
    counts = [re.search(r"^fpdus-sent=(\d+)$", output, re.M) for output in outputs]
    if any(end.returncode for end in ends) or not all(counts):
        raise RuntimeError(f"expected exit 0 and fpdus-sent of both, saw {[e.returncode for e in ends]}, {outputs}")
    return sum(int(c.group(1)) for c in counts)


def streams(path):
    """{(source port, destination port): the bytes of the TCP stream}."""
    fields = ("tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.payload")
    command = ["tshark", "-n", "-r", path, "--disable-protocol", "iwarp_mpa", "-Y", "tcp.len > 0", "-T", "fields"]
    command += [word for field in fields for word in ("-e", field)]
    lines = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           check=True).stdout.splitlines()
    found = {}
    for source, target, sequence, payload in (line.split("\t") for line in lines):
        data = bytes.fromhex(payload)
        stream, at = found.setdefault((source, target), bytearray()), int(sequence) - 1
        stream.extend(bytes(max(0, at - len(stream))))      # the segments between come later
        stream[at:at + len(data)] = data
    return {ports: bytes(stream) for ports, stream in found.items()}


def compare_bytes(ndktrace, wire, directory):
    """Returns how the traces differ from the wire, as a list of sentences. Removes the traces."""
    traces = [os.path.join(directory, name) for name in os.listdir(directory) if name.startswith("trace.")]
    found = [] if len(traces) == 2 else [f"expected two traces, saw {traces}"]
    real, capture = streams(wire), os.path.join(directory, "made.pcapng")
    for trace in traces:
        subprocess.run([*ndktrace, "pcap", "-o", capture, trace], check=True, stderr=subprocess.DEVNULL)
        made = streams(capture)
        found += [f"{ports}: {len(data)} bytes on the wire, {len(made.get(ports, b''))} bytes in {trace}, not the same"
                  for ports, data in real.items() if made.get(ports) != data]
        os.unlink(trace)
    return found


def run_case(opt, directory, case):
    name, both, client, revision = case
    path = os.path.join(directory, "capture.pcap")
    traced = []
    if opt.ndktrace:
        traced = [*opt.ndktrace, "run", "--payload", "64000", "-o", os.path.join(directory, "trace.%p"), "--"]
    recorder = Recorder(path)
    try:
        sent = run_pair([*traced, *opt.ndkping], both, client)
    finally:
        recorder.stop()
    found = differences(path, sent, "off" not in both, revision)
    if opt.ndktrace:
        found += compare_bytes(opt.ndktrace, path, directory)
    os.unlink(path)
    return found, sent


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--ndkping", type=shlex.split, required=True)
    p.add_argument("--ndktrace", type=shlex.split)
    opt = p.parse_args()
    enter_namespace()
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for case in CASES:
            try:
                found, sent = run_case(opt, directory, case)
            except (RuntimeError, subprocess.TimeoutExpired) as e:
                found, sent = [str(e)], 0
            failed += bool(found)
            print(f"{case[0]}: {'FAILED: ' + '; '.join(found) if found else f'passed, {sent} FPDUs'}", flush=True)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
