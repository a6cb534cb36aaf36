#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rewrites the iWARP connections of a capture as RoCE v2.

    to_roce.py CAPTURE OUTPUT.pcap

Wireshark's dissectors of the protocols above RDMA, NVMe's among them, are called for InfiniBand only. The messages are
the same: start-up frames become messages of InfiniBand's connection manager, and each RDMAP message becomes packets of
a reliable connection. Only capture whole connections: one whose start-up frames are missing is left out.
"""
import ipaddress
import struct
import subprocess
import sys

FIELDS = ("frame.time_epoch", "tcp.stream", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.seq_raw",
          "tcp.flags.syn", "tcp.payload")
KEYS = (b"MPA ID Req Frame", b"MPA ID Rep Frame")
WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INVALIDATE, SEND_SOLICITED, SEND_SOLICITED_INVALIDATE = range(7)
INVALIDATES = (SEND_INVALIDATE, SEND_SOLICITED_INVALIDATE)
ROCE_PORT, MTU = 4791, 4096
# InfiniBand's operations, each as first, middle, last and only packet of a message.
IB_SEND, IB_SEND_INVALIDATE = (0x00, 0x01, 0x02, 0x04), (0x00, 0x01, 0x16, 0x17)
IB_WRITE, IB_READ_REQUEST, IB_READ_RESPONSE = (0x06, 0x07, 0x08, 0x0a), 0x0c, (0x0d, 0x0e, 0x0f, 0x10)
IB_UD_SEND = 0x64
CM_REQUEST, CM_REJECT, CM_REPLY, CM_READY = 0x10, 0x12, 0x13, 0x14


class Writer:
    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 1 << 18, 1))

    def packet(self, when, source, target, payload):
        udp = struct.pack(">HHHH", 49152, ROCE_PORT, 8 + len(payload) + 4, 0) + payload + bytes(4)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, source.packed, target.packed)
        frame = bytes(12) + b"\x08\x00" + ip + udp
        self.file.write(struct.pack("<IIII", int(when), int(when % 1 * 1e6), len(frame), len(frame)) + frame)

    def close(self):
        self.file.close()


class Direction:
    """The bytes that one end sends, and its RDMAP messages."""

    def __init__(self, address, port, qpn):
        self.address, self.port, self.qpn = address, port, qpn
        self.sequence, self.early, self.bytes = None, {}, b""
        self.started, self.psn = False, 0
        self.parts = {}     # the segments so far of a message, by operation
        self.reads = []     # the first PSN of each read request that has no response yet

    def segment(self, sequence, payload):
        """Takes a TCP segment; segments may come twice and in any order."""
        if self.sequence is None:
            self.sequence = sequence
        self.early[sequence] = max(payload, self.early.get(sequence, b""), key=len)
        for first in sorted(self.early, key=lambda s: (s - self.sequence + (1 << 31)) % (1 << 32)):
            overlap = (self.sequence - first) % (1 << 32)
            if overlap >= 1 << 31:
                break
            fresh = self.early.pop(first)[overlap:]
            self.bytes += fresh
            self.sequence = (self.sequence + len(fresh)) % (1 << 32)

    def take(self, size):
        taken, self.bytes = self.bytes[:size], self.bytes[size:]
        return taken

    def start_up_frame(self):
        """Returns the key's index, the flags and the consumer's private data, or None if it is not complete."""
        if len(self.bytes) < 20:
            return None
        key, flags, revision, length = struct.unpack(">16sBBH", self.bytes[:20])
        if key not in KEYS or len(self.bytes) < 20 + length:
            return None
        private = self.take(20 + length)[20:]
        self.started = True
        return KEYS.index(key), flags, private[4:] if revision == 2 and flags & 0x10 else private

    def fpdu(self):
        """Returns the next ULPDU, or None."""
        if len(self.bytes) < 2:
            return None
        length = struct.unpack(">H", self.bytes[:2])[0]
        whole = (2 + length + 3) // 4 * 4 + 4
        return self.take(whole)[2:2 + length] if len(self.bytes) >= whole else None


class Connection:
    def __init__(self, number, client, server, writer):
        self.number, self.writer = number, writer
        self.client, self.server = client, server
        self.counts = {"capsules": 0, "responses": 0}

    def bth(self, opcode, target_qpn, psn, more):
        return struct.pack(">BBHII", opcode, 0x40, 0xffff, target_qpn, psn & 0xffffff) + more

    def manager(self, when, source, target, attribute, body):
        header = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, self.number + 1, attribute, 0, 0)
        datagram = struct.pack(">II", 0x80010000, 1) + header + body.ljust(232, b"\0")
        self.writer.packet(when, source.address, target.address, self.bth(IB_UD_SEND, 1, 0, datagram))

    def start_up(self, when, source, target, is_reply, flags, private):
        gid = [bytes(10) + b"\xff\xff" + end.address.packed for end in (source, target)]
        ids = struct.pack(">II", source.qpn, target.qpn)
        if is_reply and flags & 0x20:
            self.manager(when, source, target, CM_REJECT, ids + struct.pack(">BBH", 0x40, 0, 28) + bytes(72) + private)
        elif is_reply:
            body = ids + struct.pack(">IIIIBBBBQ", 0, source.qpn << 8, 0, 0, 1, 1, 0, 0, source.qpn) + private
            self.manager(when, source, target, CM_REPLY, body)
            self.manager(when, target, source, CM_READY, struct.pack(">II", target.qpn, source.qpn))
        else:
            body = struct.pack(">IIQQIIIIIIHBBHH", source.qpn, 0, 0x01060000 | target.port, source.qpn, 0, 0,
                               source.qpn << 8 | 1, 1, 0, 0, 0xffff, 0x50, 0, 0, 0)
            body += gid[0] + gid[1] + struct.pack(">IBBBB", 0, 0, 64, 0, 0) + bytes(44)
            body += struct.pack(">BBH", 0, 0x40, source.port)
            body += bytes(12) + source.address.packed + bytes(12) + target.address.packed + private
            self.manager(when, source, target, CM_REQUEST, body)

    def message(self, when, source, target, operations, psn, data, before=b"", after=b""):
        """Sends data as packets of at most MTU bytes. before and after are headers of the first and the last one."""
        pieces = [data[i:i + MTU] for i in range(0, len(data), MTU)] or [b""]
        first, middle, last, only = operations
        for i, piece in enumerate(pieces):
            is_last = i == len(pieces) - 1
            opcode = (only if is_last else first) if i == 0 else last if is_last else middle
            header = (before if i == 0 else b"") + (after if is_last else b"")
            self.writer.packet(when, source.address, target.address,
                               self.bth(opcode, target.qpn, psn + i, header + piece))
        return len(pieces)

    def ulpdu(self, when, source, target, ulpdu):
        is_tagged, is_last, operation = ulpdu[0] & 0x80, ulpdu[0] & 0x40, ulpdu[1] & 0x0f
        parts = source.parts.setdefault(operation, [])
        parts.append(ulpdu)
        if not is_last:
            return
        del source.parts[operation]
        data = b"".join(part[14 if is_tagged else 18:] for part in parts)
        token, place = struct.unpack(">IQ", parts[0][2:14])
        if operation == WRITE:
            reth = struct.pack(">QII", place, token, len(data))
            source.psn += self.message(when, source, target, IB_WRITE, source.psn, data, reth)
        elif operation == READ_REQUEST:
            _, _, size, token, place = struct.unpack(">IQIIQ", data)
            reth = struct.pack(">QII", place, token, size)
            self.writer.packet(when, source.address, target.address,
                               self.bth(IB_READ_REQUEST, target.qpn, source.psn, reth))
            source.reads.append(source.psn)
            source.psn += max(1, (size + MTU - 1) // MTU)
        elif operation == READ_RESPONSE and target.reads:
            psn, aeth = target.reads.pop(0), bytes(4)
            short = len(data) <= MTU
            self.message(when, source, target, IB_READ_RESPONSE, psn, data, aeth, b"" if short else aeth)
        elif SEND <= operation <= SEND_SOLICITED_INVALIDATE:
            self.counts["capsules" if source is self.client else "responses"] += 1
            token = parts[-1][2:6] if operation in INVALIDATES else b""
            kind = IB_SEND_INVALIDATE if token else IB_SEND
            source.psn += self.message(when, source, target, kind, source.psn, data, b"", token)

    def segment(self, when, source, target, sequence, payload):
        source.segment(sequence, payload)
        if not source.started:
            frame = source.start_up_frame()
            if not frame:
                return
            self.start_up(when, source, target, *frame)
        ulpdu = source.fpdu()
        while ulpdu is not None:
            if ulpdu:
                self.ulpdu(when, source, target, ulpdu)
            ulpdu = source.fpdu()


def convert(capture, output):
    """Returns how many capsules and responses were converted, and how many connections."""
    command = ["tshark", "-r", capture, "-Y", "tcp && ip", "-T", "fields", "--disable-protocol", "iwarp_mpa"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"tshark: {done.stderr.strip()}")
    writer, ends, connections = Writer(output), {}, {}
    for line in done.stdout.splitlines():
        when, stream, source, source_port, target, target_port, sequence, _, payload = line.split("\t")
        if not payload:
            continue
        if stream not in connections:   # the client sends first
            number = len(connections)
            for i, (address, port) in enumerate(((source, source_port), (target, target_port))):
                ends[stream, address, port] = Direction(ipaddress.IPv4Address(address), int(port), 256 + 2 * number + i)
            connections[stream] = Connection(number, ends[stream, source, source_port],
                                             ends[stream, target, target_port], writer)
        connections[stream].segment(float(when), ends[stream, source, source_port], ends[stream, target, target_port],
                                    int(sequence), bytes.fromhex(payload))
    writer.close()
    started = [c for c in connections.values() if c.client.started and c.server.started]
    return (sum(c.counts["capsules"] for c in started), sum(c.counts["responses"] for c in started), len(started))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print("%d capsules, %d responses, %d connections" % convert(*sys.argv[1:]))


if __name__ == "__main__":
    main()
