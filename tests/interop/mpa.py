# SPDX-License-Identifier: MIT
"""MPA, DDP and RDMAP as bytes, for the test programs of this directory: no state, slow, independent of the library.

RFC 5044 (MPA), 6581 (enhanced connection set-up), 5041 (DDP), 5040 (RDMAP). Addresses, lengths, STags are big-endian,
the CRC32c of an FPDU goes on the wire in little-endian byte order.
"""
import struct

REQ, REP = b"MPA ID Req Frame", b"MPA ID Rep Frame"
# First flag byte after the key (S: RFC 6581).
M, C, R, S = 0x80, 0x40, 0x20, 0x10
# RDMAP opcodes.
WRITE, READ_REQUEST, READ_RESPONSE, SEND, TERMINATE = 0, 1, 2, 3, 7
MAX_PAYLOAD = 1400


def make_crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
        table.append(n)
    return table


CRC_TABLE = make_crc_table()


def crc32c(data):
    crc = 0xffffffff
    for b in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ b) & 0xff]
    return crc ^ 0xffffffff


def frame(key, flags, rev, private=b""):
    return key + struct.pack(">BBH", flags, rev, len(private)) + private


def v2(ird, ord_, a=0, b=0, c=0, d=0):
    """The IRD and ORD words: A peer-to-peer, B zero-length FPDU, C write and D read as ready-to-receive."""
    return struct.pack(">HH", a << 15 | b << 14 | ird, c << 15 | d << 14 | ord_)


def fpdu(ulpdu, crc_on):
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    body += bytes(-len(body) % 4)
    return body + struct.pack("<I", crc32c(body) if crc_on else 0)


def untagged(opcode, queue, msn, payload, last=True, offset=0):
    return struct.pack(">BBIIII", 0x41 if last else 0x01, 0x40 | opcode, 0, queue, msn, offset) + payload


def tagged(opcode, stag, offset, payload, last=True):
    return struct.pack(">BBIQ", 0xc1 if last else 0x81, 0x40 | opcode, stag, offset) + payload


def tagged_segments(opcode, stag, offset, data):
    """One tagged message as ULPDUs that each fit a TCP segment."""
    starts = range(0, max(len(data), 1), MAX_PAYLOAD)
    return [tagged(opcode, stag, offset + at, data[at:at + MAX_PAYLOAD],
                   at + MAX_PAYLOAD >= len(data)) for at in starts]


def read_request(msn, sink_stag, sink, length, source_stag, source):
    return untagged(READ_REQUEST, 1, msn, struct.pack(">IQIIQ", sink_stag, sink, length, source_stag, source))


def rtr_frame(form, crc_on):
    """The ready-to-receive frame of a form: zero (empty FPDU), write or read (empty RDMA Write, RDMA Read)."""
    if form == "zero":
        return fpdu(b"", crc_on)
    if form == "write":
        return fpdu(tagged(WRITE, 0, 0, b""), crc_on)
    return fpdu(read_request(1, 0, 0, 0, 0, 0), crc_on)


def recv_exact(s, n):
    data = b""
    while len(data) < n:
        part = s.recv(n - len(data))
        if not part:
            break
        data += part
    return data


def recv_frame(s):
    """Receives an MPA request or reply, or its part before the end of the stream."""
    head = recv_exact(s, 20)
    return head + recv_exact(s, struct.unpack(">H", head[18:])[0]) if len(head) == 20 else head


def recv_fpdu(s, crc_on):
    """The ULPDU of the next FPDU, or None at the end of the stream."""
    head = recv_exact(s, 2)
    if not head:
        return None
    length = struct.unpack(">H", head)[0]
    body = head + recv_exact(s, (2 + length + 3 & ~3) - 2)
    crc = recv_exact(s, 4)
    if len(crc) < 4:
        raise ConnectionError("the stream ends inside an FPDU")
    if crc != struct.pack("<I", crc32c(body) if crc_on else 0):
        raise ConnectionError(f"CRC field is {crc.hex()} on {body.hex()}")
    return body[2:2 + length]
