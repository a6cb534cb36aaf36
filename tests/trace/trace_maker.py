# SPDX-License-Identifier: MIT
"""Writes trace files with chosen events, as docs/trace-format.md specifies them, for tests of readers."""
import ipaddress
import struct

import trace_reader

FORMATS = {"u8": "B", "x8": "B", "u16": "H", "x16": "H", "u32": "I", "x32": "I", "status": "I", "flags": "I",
           "u64": "Q", "x64": "Q", "ptr": "Q", "ns": "Q", "bytes": "H"}


def schema_of(path):
    """The schema text of a trace file."""
    data = path.read_bytes()
    offset, size = struct.unpack_from("<II", data, 28)
    return data[offset:offset + size].decode()


class Maker:
    def __init__(self, schema, pid=1, host="host", program="program", realtime_ns=10**18, monotonic_ns=10**12):
        self.schema, self.pid, self.host, self.program = schema, pid, host, program
        self.realtime_ns, self.monotonic_ns = realtime_ns, monotonic_ns
        self.numbers = {name: (number, fields) for number, (name, fields) in trace_reader.parse_schema(schema).items()}
        self.threads = {1: b"main"}  # number: name
        self.thread = 1              # of the events that are added
        self.events = []

    def add(self, event, time_ns, connection=0, /, **values):
        """time_ns: since the beginning of the trace. A field that is not given is 0."""
        number, fields = self.numbers[event]
        unknown = values.keys() - {field for field, _, _ in fields}
        assert not unknown, (event, unknown)
        data, tail = b"", b""
        for field, kind, names in fields:
            value = values.get(field, b"" if kind in ("bytes", "text16") else None if kind == "addr" else 0)
            if isinstance(value, str) and kind != "addr":
                value = {text: number for number, text in names.items()}[value]
            if kind == "bytes":
                value, tail = len(value), value
            data += self.encode(kind, value)
        self.events.append((time_ns, number, connection, data + tail, self.thread))

    @staticmethod
    def encode(kind, value):
        if kind == "text16":
            return value.ljust(16, b"\0")
        if kind == "addr":
            if value is None:
                return bytes(24)
            host, port = value.rsplit(":", 1)
            host = ipaddress.ip_address(host.strip("[]"))
            return struct.pack(">BBH16sI", host.version, 0, int(port), host.packed.ljust(16, b"\0"), 0)
        return struct.pack("<" + FORMATS[kind], value)

    def records(self, thread):
        """The bytes of a thread's events, in the order of time."""
        records = struct.pack("<HHIQI16s4x", 40, self.numbers["thread"][0], 0, self.monotonic_ns, thread,
                              self.threads.get(thread, b""))
        for time_ns, number, connection, data, owner in sorted(self.events, key=lambda event: event[0]):
            if owner == thread:
                size = (16 + len(data) + 7) // 8 * 8
                head = struct.pack("<HHIQ", size, number, connection, self.monotonic_ns + time_ns)
                records += (head + data).ljust(size, b"\0")
        return records

    def write(self, path, sequence=1):
        """
        sequence: that of the first segment; each thread has one. If there is one thread, more than 1 means that newer
        events have overwritten older ones.
        """
        segments = [self.records(thread) for thread in sorted({event[4] for event in self.events})]
        schema = self.schema.encode()
        room = (16 + max(map(len, segments), default=0) + 4095) // 4096 * 4096
        head = b"ONDKTRCE" + struct.pack("<8I3Q", 0x01020304, 1, 224 + len(schema), room, len(segments), 224,
                                         len(schema), self.pid, self.realtime_ns, self.monotonic_ns, 0)
        for text, size in ((self.program, 64), (self.host, 64), ("1", 32)):
            head += (text if isinstance(text, bytes) else text.encode()).ljust(size, b"\0")
        path.write_bytes(head + schema + b"".join(
            (struct.pack("<QII", sequence + i, len(records), 0) + records).ljust(room, b"\0")
            for i, records in enumerate(segments)))
