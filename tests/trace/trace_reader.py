# SPDX-License-Identifier: MIT
"""Reads trace files as docs/trace-format.md specifies them."""
import dataclasses
import ipaddress
import struct

HEADER = struct.Struct("<8s8IQQQ64s64s32s")
HEADER_NAMES = ("magic", "byte_order", "version", "header_size", "segment_size", "segment_count", "schema_offset",
                "schema_size", "pid", "realtime_ns", "monotonic_ns", "lost", "program", "host", "library")
SIZES = {"bytes": 2, "u8": 1, "x8": 1, "u16": 2, "x16": 2, "u32": 4, "x32": 4, "status": 4, "flags": 4,
         "u64": 8, "x64": 8, "ptr": 8, "ns": 8,
         "addr": 24, "text16": 16}


class Malformed(Exception):
    pass


@dataclasses.dataclass
class Event:
    time_ns: int
    thread: int
    id: int
    name: str
    fields: dict


@dataclasses.dataclass
class Trace:
    header: dict
    events: list
    skipped: int  # segments that end in something that is no event


def text_of(data):
    return data.split(b"\0")[0].decode("utf-8", "replace")


def parse_schema(text):
    """Returns {number: (name, [(field, kind, {value: name})])}."""
    events, names = {}, {}
    for line in text.splitlines():
        words = line.split(" ")
        if words[0] == "names":
            pairs = [word.split("=") for word in words[2:]]
            names[words[1]] = {int(value): name for value, name in pairs}
        elif words[0] == "event" and len(words) > 2: # the text of a truncated file ends anywhere
            fields = [(word.split(":") + ["", ""])[:3] for word in words[3:]]
            events[int(words[1])] = (words[2], [(name, kind, names.get(of, {})) for name, kind, of in fields])
    return events


def parse_field(kind, data):
    if kind == "text16":
        return text_of(data)
    if kind == "addr":
        family, port, host = data[0], int.from_bytes(data[2:4], "big"), data[4:20]
        if family not in (4, 6):
            return None
        return (str(ipaddress.ip_address(host[:4] if family == 4 else host)), port)
    return int.from_bytes(data, "little")


def flags_text(names, value):
    """The names of the bits, in the order of the list; the rest as a number."""
    words = []
    for bits, name in names.items():
        if bits and value & bits == bits:
            words.append(name)
            value &= ~bits
    return "|".join(words + ([hex(value)] if value else [])) or "0"


def parse_fields(fields, data):
    values, at = {}, 0
    for name, kind, names in fields:
        size = SIZES.get(kind)
        if size is None or at + size > len(data):
            break  # a newer kind, or a file of an older version without this field
        value = parse_field(kind, data[at:at + size])
        at += size
        if kind == "bytes":
            value = data[at:at + value]
        values[name] = flags_text(names, value) if kind == "flags" else names.get(value, value)
    return values


def parse_segment(schema, data, committed, out):
    """Appends the segment's events to `out`. Returns False if it contains something that is no event."""
    at, thread = 0, 0
    while at < committed:
        if committed - at < 16:
            return False
        size, kind, number, time_ns = struct.unpack_from("<HHIQ", data, at)
        if size < 16 or size % 8 or size > committed - at:
            return False
        name, fields = schema.get(kind, (f"event-{kind}", []))
        values = parse_fields(fields, data[at + 16:at + size])
        if name == "thread":
            thread = values["thread"]
        else:
            out.append(Event(time_ns, thread, number, name, values))
        at += size
    return True


def copy_segment(read, offset, size):
    """Returns the number of committed bytes and the bytes, or None if the segment is empty or is being overwritten."""
    for _ in range(100):
        data = read(offset, size)
        if len(data) < 16:
            return None
        sequence, committed = struct.unpack_from("<QI", data)
        if sequence and read(offset, 8) == data[:8]:
            return min(committed, len(data) - 16), data[16:]
        if not sequence:
            return None
    return None


def read_schema(path):
    """Returns the schema of a trace file, as parse_schema does."""
    with open(path, "rb") as file:
        header = dict(zip(HEADER_NAMES, HEADER.unpack(file.read(HEADER.size))))
        file.seek(header["schema_offset"])
        return parse_schema(text_of(file.read(header["schema_size"])))


def read_trace(path):
    with open(path, "rb") as file:
        def read(offset, size):
            file.seek(offset)
            return file.read(size)

        data = read(0, HEADER.size)
        if len(data) < HEADER.size or data[:8] != b"ONDKTRCE":
            raise Malformed("no trace file")
        header = dict(zip(HEADER_NAMES, HEADER.unpack(data)))
        if header["byte_order"] != 0x01020304 or header["version"] != 1:
            raise Malformed("another byte order or version")
        for name in ("program", "host", "library"):
            header[name] = text_of(header[name])
        schema = parse_schema(text_of(read(header["schema_offset"], header["schema_size"])))
        trace = Trace(header, [], 0)
        for i in range(header["segment_count"]):
            copy = copy_segment(read, header["header_size"] + i * header["segment_size"], header["segment_size"])
            if copy and not parse_segment(schema, copy[1], copy[0], trace.events):
                trace.skipped += 1
    trace.events.sort(key=lambda event: event.time_ns)
    return trace
