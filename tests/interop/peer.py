#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An iWARP peer in plain Python with the part of ndkping's command line that run_interop.py uses.

It proves the scenarios, and that the harness sees a failure, without the library: run_interop.py --ndkping peer.py.
It speaks rping's protocol (guest/cmtool.c describes it) over one connection and knows no error handling.

peer.py -C -ServerAddr IP:PORT ...    connects, 3 rounds of data, disconnects
peer.py -S -ServerAddr IP:PORT ...    accepts one connection, serves rounds until the client disconnects
Exit status 0 when all went well, 1 when not.
"""
import argparse
import socket
import struct
import sys
import time

from mpa import (C, R, READ_REQUEST, READ_RESPONSE, REP, REQ, S, SEND, TERMINATE, WRITE, fpdu, frame, read_request,
                 recv_fpdu, recv_frame, rtr_frame, tagged_segments, untagged, v2)

PAUSE = 0.05    # before the first FPDU to a siw that has just answered: README.md
ROUNDS, SIZE, STAG = 3, 64, 0x0ddf00d5


class Stream:
    """An established connection: answers Read Requests, places tagged data, and returns messages."""

    def __init__(self, sock, crc_on):
        self.sock, self.crc_on = sock, crc_on
        self.sent = self.msn = self.reads = 0
        self.memory = {}

    def send(self, *ulpdus):
        self.sent += len(ulpdus)
        self.sock.sendall(b"".join(fpdu(u, self.crc_on) for u in ulpdus))

    def message(self, addr=0, stag=0, length=0):
        self.msn += 1
        self.send(untagged(SEND, 0, self.msn, struct.pack(">QII", addr, stag, length)))

    def place(self, ulpdu):
        stag, to = struct.unpack(">IQ", ulpdu[2:14])
        if len(ulpdu) > 14:
            self.memory[stag][to:to + len(ulpdu) - 14] = ulpdu[14:]

    def answer_read(self, ulpdu):
        sink_stag, sink, length, stag, source = struct.unpack(">IQIIQ", ulpdu[18:46])
        data = bytes(self.memory[stag][source:source + length]) if length else b""
        self.send(*tagged_segments(READ_RESPONSE, sink_stag, sink, data))

    def next(self):
        """The next Send's payload, b"" for a complete Read Response, None at the end of the stream."""
        while (ulpdu := recv_fpdu(self.sock, self.crc_on)) is not None:
            if not ulpdu:
                continue
            opcode = ulpdu[1] & 15
            if opcode == READ_REQUEST:
                self.answer_read(ulpdu)
            elif opcode in (WRITE, READ_RESPONSE):
                self.place(ulpdu)
                if opcode == READ_RESPONSE and ulpdu[0] & 0x40:
                    return b""
            elif opcode == TERMINATE:
                raise ConnectionError(f"Terminate {ulpdu[18:].hex()}")
            else:
                return ulpdu[18:]
        return None

    def read(self, addr, stag, length):
        self.memory[STAG] = bytearray(length)
        self.reads += 1
        self.send(read_request(self.reads, STAG, 0, length, stag, addr))
        if self.next() is None:
            raise ConnectionError("closed during a read")
        return bytes(self.memory[STAG])


def rping_client(stream):
    for n in range(ROUNDS):
        # rping's server writes back as many bytes as the string has.
        data = f"rdma-ping-{n}: ".encode().ljust(SIZE - 1, b"x") + b"\0"
        stream.memory = {STAG: bytearray(data), STAG + 1: bytearray(SIZE)}
        stream.message(0, STAG, SIZE)
        if stream.next() is None:
            raise ConnectionError("closed in round")
        stream.message(0, STAG + 1, SIZE)
        if stream.next() is None or stream.memory[STAG + 1] != data:
            raise ConnectionError("data differs")


def rping_server(stream):
    while (message := stream.next()) is not None:
        data = stream.read(*struct.unpack(">QII", message))
        stream.message()
        addr, stag, length = struct.unpack(">QII", stream.next())
        stream.send(*tagged_segments(WRITE, stag, addr, data[:length]))
        stream.message()


def take_private(opt, flags, rev, private):
    """Prints the peer's private data and the read limits in effect. Returns its IRD and ORD words."""
    words = (0x3fff, 0x3fff)     # none stated
    if rev == 2 and flags & S:
        words, private = struct.unpack(">HH", private[:4]), private[4:]
    print(f"read-limits inbound={min(opt.ird, words[1] & 0x3fff)} outbound={min(opt.ord, words[0] & 0x3fff)}")
    print(f"private-data={private.hex()}")
    return words


def client(opt, address):
    sock = socket.create_connection(address, timeout=10, source_address=(opt.client_addr, 0))
    flags = C if opt.crc == "on" else 0
    private = opt.private_data
    if opt.mpa_rev == 2:
        forms = {form: int(opt.rtr == form) for form in ("zero", "write", "read")}
        flags |= S
        private = v2(opt.ird, opt.ord, int(opt.rtr != "none"), forms["zero"], forms["write"], forms["read"]) + private
    sock.sendall(frame(REQ, flags, opt.mpa_rev, private))
    reply = recv_frame(sock)
    if len(reply) < 20 or reply[:16] != REP:
        raise ConnectionError("no MPA reply")
    ird, ord_ = take_private(opt, reply[16], reply[17], reply[20:])
    if reply[16] & R:
        raise ConnectionError("STATUS_CONNECTION_REFUSED")
    stream = Stream(sock, reply[16] & C)
    time.sleep(PAUSE)
    if ird & 0x8000:
        form = "zero" if ird & 0x4000 else "write" if ord_ & 0x8000 else "read"
        if form != opt.rtr:
            stream.send(untagged(TERMINATE, 2, 1, bytes([0x20, 0x06, 0, 0])))
            raise ConnectionError(f"reply asks for ready-to-receive form {form}")
        sock.sendall(rtr_frame(form, stream.crc_on))
        stream.sent += 1
        if form == "read" and stream.next() is None:
            raise ConnectionError("closed during ready-to-receive")
        stream.reads += form == "read"
    rping_client(stream)
    return stream


def answer_forms(ird, ord_):
    """The flags A, B, C, D of a reply, which chooses the first offered form."""
    offered = (ird >> 14 & 1, ord_ >> 15, ord_ >> 14 & 1)
    if not ird >> 15:
        return 0, 0, 0, 0
    return 1, *(int(i == offered.index(1)) for i in range(3))


def server(opt, address):
    with socket.create_server(address) as listener:
        listener.settimeout(opt.wait)
        sock = listener.accept()[0]
    sock.settimeout(10)
    request = recv_frame(sock)
    if len(request) < 20 or request[:16] != REQ:
        raise ConnectionError("no MPA request")
    flags, rev = request[16:18]
    ird, ord_ = take_private(opt, flags, rev, request[20:])
    words = v2(opt.ird, opt.ord, *answer_forms(ird, ord_))
    flags = flags & S | (C if opt.crc == "on" else 0) | (R if opt.reject else 0)
    sock.sendall(frame(REP, flags, rev, (words if flags & S else b"") + opt.private_data))
    stream = Stream(sock, flags & C)
    if opt.reject:
        sock.recv(1)    # siw drops the private data of a reject when the end comes right behind it
    else:
        rping_server(stream)
    return stream


def main():
    p = argparse.ArgumentParser(allow_abbrev=False)
    p.add_argument("-S", action="store_true")
    p.add_argument("-C", action="store_true")
    p.add_argument("-V", action="store_true")
    p.add_argument("-ServerAddr", required=True)
    p.add_argument("-ClientAddr", dest="client_addr", default="")
    for ignored in ("-ServerIf", "-ClientIf", "-TestType"):
        p.add_argument(ignored)
    p.add_argument("-W", dest="wait", type=int, default=10)
    p.add_argument("--mpa-rev", type=int, default=2)
    p.add_argument("--rtr", choices=("none", "zero", "write", "read"), default="none")
    p.add_argument("--crc", choices=("on", "off"), default="on")
    p.add_argument("--ird", type=int, default=1)
    p.add_argument("--ord", type=int, default=1)
    p.add_argument("--private-data", type=bytes.fromhex, default=b"")
    p.add_argument("--reject", action="store_true")
    opt = p.parse_args()
    host, port = opt.ServerAddr.rsplit(":", 1)
    try:
        stream = (server if opt.S else client)(opt, (host, int(port)))
    except (OSError, KeyError, struct.error) as e:
        print(f"failed: {e}")
        return 1
    stream.sock.close()
    print(f"fpdus-sent={stream.sent}")
    print("peer completes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
