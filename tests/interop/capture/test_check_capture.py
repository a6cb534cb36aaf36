#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests check_capture.py and compare_trace.py on captures written by hand: they pass good ones, and see each kind of
fault.

Some cases state what Wireshark 4.0 cannot do, so that a later version that can is noticed.
Status 0 when all is as expected, 1 when not, 77 without tshark.
"""
import os
import shutil
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import compare_trace   # noqa: E402
from check_capture import differences   # noqa: E402
from mpa import (C, R, READ_RESPONSE, REP, REQ, S, SEND, TERMINATE, WRITE, fpdu, frame,     # noqa: E402
                 read_request, rtr_frame, tagged_segments, untagged, v2)
from run_capture import streams   # noqa: E402

LINKTYPE_RAW, SYN, SYN_ACK, ACK, PUSH_ACK, RST_ACK = 101, 0x02, 0x12, 0x10, 0x18, 0x14
HOST = bytes([127, 0, 0, 1])


class Capture:
    """One TCP connection, written as raw IPv4 packets. Side 0 is the initiator."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 1 << 18, LINKTYPE_RAW))
        self.ports, self.seq, self.packets = (50000, 50001), [1000, 5000], 0
        self.packet(0, b"", SYN)
        self.packet(1, b"", SYN_ACK)
        self.packet(0, b"", ACK)

    def packet(self, side, data, flags=PUSH_ACK):
        ack = self.seq[1 - side] if flags & ACK else 0
        tcp = struct.pack(">HHIIBBHHH", self.ports[side], self.ports[1 - side], self.seq[side], ack, 0x50, flags,
                          65535, 0, 0) + data
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, HOST, HOST) + tcp
        self.packets += 1
        self.file.write(struct.pack("<IIII", 1700000000, self.packets, len(ip), len(ip)) + ip)
        self.seq[side] += len(data) + bool(flags & SYN)

    def start_up(self, revision, crc, form=None, private=b""):
        flags = crc | (S if revision == 2 else 0)
        a, b, c, d = (int(form is not None), *(int(form == f) for f in ("zero", "write", "read")))
        words = v2(1, 1, a, b, c, d) if revision == 2 else b""
        self.packet(0, frame(REQ, flags, revision, words + private))
        self.packet(1, frame(REP, flags, revision, words + private))
        if form:
            self.packet(0, rtr_frame(form, crc))


def send(msn, size, crc=C):
    return fpdu(untagged(SEND, 0, msn, bytes(size)), crc)


def traffic(capture, crc):
    """Every kind of FPDU, alone, several in one segment, and cut at segment boundaries; returns how many."""
    segments = [fpdu(u, crc) for u in tagged_segments(READ_RESPONSE, 5, 0x1000, bytes(range(250)) * 20)]
    capture.packet(0, send(1, 16, crc))
    capture.packet(1, fpdu(read_request(1, 5, 0x1000, 5000, 6, 0x2000), crc))
    capture.packet(0, segments[0])
    capture.packet(0, b"".join(segments[1:]))
    capture.packet(1, fpdu(tagged_segments(WRITE, 7, 0, bytes(100))[0], crc))
    two = send(2, 3, crc) + send(3, 101, crc)
    for cut in (29, 41, 10):    # inside the second FPDU, its first byte included; inside the first one
        capture.packet(0, two[:cut])
        capture.packet(0, two[cut:])
    capture.packet(0, send(8, 60000, crc))
    capture.packet(1, fpdu(untagged(TERMINATE, 2, 1, bytes([0x11, 0, 0, 0])), crc))
    return 3 + len(segments) + 6 + 2


def good(capture, revision, crc, form=None, private=b""):
    capture.start_up(revision, crc, form, private)
    return traffic(capture, crc) + bool(form), bool(crc), revision


def with_bytes(capture, *pieces, fpdus=1):
    capture.start_up(1, C)
    for piece in pieces:
        capture.packet(0, piece)
    return fpdus, True, 1


def broken(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def rejected(capture):
    capture.packet(0, frame(REQ, C, 1))
    capture.packet(1, frame(REP, C | R, 1))
    return 0, True, 1


CASES = [
    ("revision 1", lambda c: good(c, 1, C), None),
    ("revision 1 without CRC", lambda c: good(c, 1, 0), None),
    ("revision 1, 512 bytes of private data", lambda c: good(c, 1, C, private=bytes(512)), None),
    ("revision 2", lambda c: good(c, 2, C), None),
    ("revision 2, 508 bytes of private data", lambda c: good(c, 2, C, private=bytes(508)), None),
    ("revision 2, empty FPDU first", lambda c: good(c, 2, C, "zero"), None),
    ("revision 2, empty RDMA Write first", lambda c: good(c, 2, C, "write"), None),
    ("revision 2, empty RDMA Read first", lambda c: good(c, 2, C, "read"), None),
    ("revision 2 without CRC", lambda c: good(c, 2, 0, "write"), None),
    ("one FPDU missing", lambda c: with_bytes(c, send(1, 16), fpdus=2), "expected 2 of fpdu, saw 1"),
    ("one FPDU too many", lambda c: with_bytes(c, send(1, 16) * 2), "expected 1 of fpdu, saw 2"),
    ("bad CRC", lambda c: with_bytes(c, broken(send(1, 16), 38)), "expected 0 of bad, saw 1"),
    ("bad payload", lambda c: with_bytes(c, broken(send(1, 16), 30)), "expected 0 of bad, saw 1"),
    ("FPDUs without the agreed CRC", lambda c: with_bytes(c, send(1, 16, 0)), "expected 0 of bad, saw 1"),
    ("revision 2 taken for revision 1", lambda c: (good(c, 2, C)[0], True, 1), "expert item: Rev field"),
    ("revision 1 taken for revision 2", lambda c: (good(c, 1, C)[0], True, 2), "no warning any more: Rev field"),
    ("reject", rejected, "expert item: Reject bit set by Responder"),
    ("no CRC expected, CRC there", lambda c: (good(c, 1, C)[0], False, 1), "expected 0 of good"),
    ("limit: a segment of less than 8 bytes ahead of an FPDU's rest",
     lambda c: with_bytes(c, send(1, 101)[:3], send(1, 101)[3:]), "expected 1 of fpdu, saw 0"),
]


def terminate(fault=b""):
    """The Terminate for a frame with this DDP header, or for a bad CRC."""
    if not fault:
        return fpdu(untagged(TERMINATE, 2, 1, bytes([0x20, 2, 0, 0])), C)
    code = bytes([0x11, 0]) if fault[0] & 0x80 else bytes([0x12, 2])
    return fpdu(untagged(TERMINATE, 2, 1, code + bytes([0xc0, 0]) + struct.pack(">H", 64) + fault), C)


FRAMES = [send(1, 16), fpdu(tagged_segments(WRITE, 7, 0x1000, bytes(32))[0], C), send(2, 16), send(3, 16)]
HEADERS = [frame[2:2 + (14 if frame[2] & 0x80 else 18)] for frame in FRAMES]
BAD = broken(FRAMES[1], 20)
# The frames on the wire, the Terminate of their receiver, the number of frames in the trace, what is found.
TERMINATED = [
    ("all frames", FRAMES, b"", 4, None),
    ("a missing frame", FRAMES, b"", 3, "from port 50000 to 50001, frame 5 of 5 on the wire and 4 in the trace"),
    ("frames behind the faulty one", FRAMES, terminate(HEADERS[1]), 2, None),
    ("frames behind a faulty untagged one", FRAMES, terminate(HEADERS[2]), 3, None),
    ("the faulty frame is missing", FRAMES, terminate(HEADERS[1]), 1, "from port 50000 to 50001, frame 3 of 5"),
    ("a frame behind the faulty one was read", FRAMES, terminate(HEADERS[1]), 3,
     "from port 50000 to 50001, frame 5 of 5"),
    ("frames behind a bad CRC", [FRAMES[0], BAD, *FRAMES[2:]], terminate(), 2, None),
    ("the frame with the bad CRC is missing", [FRAMES[0], BAD, *FRAMES[2:]], terminate(), 1,
     "from port 50000 to 50001, frame 3 of 5"),
    ("a Terminate without a header behind the start-up", [], terminate(), 0, None),
]
HALF = len(FRAMES[2]) // 2
# The bytes on the wire, the end that sent a RST, the frames in the trace, what is found.
RESET = [
    ("frames behind the peer's reset", FRAMES[:2], 1, FRAMES, None),
    ("a part of a frame behind the peer's reset", [*FRAMES[:2], FRAMES[2][:HALF]], 1, FRAMES, None),
    ("frames behind an end without a reset", FRAMES[:2], None, FRAMES, "from port 50000 to 50001, frame 4 of 3"),
    ("frames behind a reset of their own end", FRAMES[:2], 0, FRAMES, "from port 50000 to 50001, frame 4 of 3"),
    ("another frame before the peer's reset", [FRAMES[0], FRAMES[2]], 1, FRAMES,
     "from port 50000 to 50001, frame 3 of 3"),
    ("a part of another frame before the peer's reset", [*FRAMES[:2], FRAMES[3][:HALF]], 1, FRAMES,
     "from port 50000 to 50001, frame 4 of 3"),
    ("a missing frame before the peer's reset", FRAMES, 1, FRAMES[:3], "from port 50000 to 50001, frame 5 of 5"),
]


def write_compared(path, frames, answer=b"", reset_by=None):
    capture = Capture(path)
    capture.start_up(1, C)
    for data in frames:
        capture.packet(0, data)
    if answer:
        capture.packet(1, answer)
    if reset_by is not None:
        capture.packet(reset_by, b"", RST_ACK)
    capture.file.close()
    return path


def compare_all(directory):
    cases = [(name, (frames, answer), (frames[:traced], answer), want)
             for name, frames, answer, traced, want in TERMINATED]
    cases += [(name, (frames, b"", reset_by), (traced,), want) for name, frames, reset_by, traced, want in RESET]
    failed = 0
    for number, (name, of_wire, of_trace, want) in enumerate(cases):
        wire, trace = (os.path.join(directory, f"{number}.{end}") for end in ("wire", "trace"))
        _, found = compare_trace.differences(write_compared(wire, *of_wire), write_compared(trace, *of_trace))
        good_answer = any(line.startswith(want) for line in found) if want else not found
        failed += not good_answer
        print(f"{name}: {'passed' if good_answer else f'FAILED: expected {want}, saw {found}'}", flush=True)
    return failed


def check_reordered(directory):
    """The second segment is captured before the first."""
    path = os.path.join(directory, "reordered")
    capture = Capture(path)
    for at, data in ((1016, b"second"), (1001, b"the first, then")):
        capture.seq[0] = at
        capture.packet(0, data)
    capture.file.close()
    saw, want = streams(path).get(("50000", "50001")), b"the first, thensecond"
    print(f"reordered segments: {'passed' if saw == want else f'FAILED: expected {want}, saw {saw}'}", flush=True)
    return saw != want


def main():
    if not shutil.which("tshark"):
        print("skipped: no tshark")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for number, (name, make, want) in enumerate(CASES):
            path = os.path.join(directory, f"{number}.pcap")
            capture = Capture(path)
            fpdus, crc, revision = make(capture)
            capture.file.close()
            found = differences(path, fpdus, crc, revision)
            good_answer = any(line.startswith(want) for line in found) if want else not found
            failed += not good_answer
            print(f"{name}: {'passed' if good_answer else f'FAILED: expected {want}, saw {found}'}", flush=True)
        failed += compare_all(directory) + check_reordered(directory)
    print(f"{len(CASES) + len(TERMINATED) + len(RESET) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
