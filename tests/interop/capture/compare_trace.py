# SPDX-License-Identifier: MIT
"""Compares the frames that tshark finds on the wire with those of the capture that `ndktrace pcap` made of a trace.

The frames of each direction of each connection of the trace must be those of the wire: the same MPA frames and FPDUs in
the same order, with the same fields. The trace has the payload, so CRCs are equal, too, and with them all bytes. Only
padding is not compared, nor a CRC after padding, because siw does not zero its padding.

An end that sends a Terminate reads no further frames. So frames that follow the one which the Terminate names may be
missing in the trace, and no others.

A peer that resets the connection discards what is in our socket. So frames at the end of a trace may be missing on the
wire if the peer sent a RST, as ib_write_bw's server does.
"""
import subprocess
import tempfile
import xml.etree.ElementTree as ET

from check_capture import OPTIONS, tshark
from run_capture import streams

UNEQUAL = {"iwarp_mpa.crc", "iwarp_mpa.crc_check", "iwarp_mpa.pad"}
LAYERS = ("iwarp_mpa", "iwarp_ddp_rdmap")
# Fields of DDP headers: name, offset and size in bytes.
TAGGED = (("iwarp_ddp.stag", 2, 4), ("iwarp_ddp.tagged_offset", 6, 8))
UNTAGGED = (("iwarp_ddp.qn", 6, 4), ("iwarp_ddp.msn", 10, 4), ("iwarp_ddp.mo", 14, 4))


def frame_of(proto):
    """The fields of a layer of a packet, as text."""
    fields = []
    is_padded = any(field.get("name") == "iwarp_mpa.pad" for field in proto.iter("field"))
    for field in proto.iter("field"):
        name = field.get("name")
        if name == "iwarp_mpa.crc_check":
            fields.append("crc=good" if "(Good CRC32)" in field.get("showname") else "crc=bad")
            if not is_padded:
                fields.append(field.get("showname"))
        if name.startswith("iwarp") and name not in UNEQUAL and field.get("show"):
            fields.append(f"{name}={field.get('show')}")
    return " ".join(fields)


def add_packet(packet, found):
    ports = None
    for proto in packet:
        if proto.get("name") == "tcp":
            ports = tuple(int(proto.find(f"field[@name='tcp.{end}port']").get("show")) for end in ("src", "dst"))
        elif proto.get("name") == "iwarp_mpa":
            found.setdefault(ports, []).append(frame_of(proto))
        elif proto.get("name") == "iwarp_ddp_rdmap":
            found[ports][-1] += " " + frame_of(proto)


def frames(capture, ports=None):
    """{(source port, destination port): [frame]} of all packets, or of those from or to the ports."""
    only = "iwarp_mpa" + (f" && tcp.port in {{{','.join(map(str, ports))}}}" if ports else "")
    found = {}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(["tshark", "-r", capture, *OPTIONS, "-Y", only, "-T", "pdml", "-J", "tcp " +
                                    " ".join(LAYERS)], stdout=subprocess.PIPE, stderr=errors)
        for _, element in ET.iterparse(process.stdout):
            if element.tag == "packet":
                add_packet(element, found)
                element.clear()
        if process.wait():
            errors.seek(0)
            raise RuntimeError(f"tshark: {errors.read().strip()}")
    return found


def names(terminate, frame):
    """True if the frame has the header that the Terminate quotes. A Terminate without one is for a bad CRC."""
    quoted, fields = (dict(word.partition("=")[::2] for word in text.split()) for text in (terminate, frame))
    header = bytes.fromhex(quoted.get("iwarp_rdma.term_ddp_h", "").replace(":", ""))
    if not header:
        return fields.get("crc") == "bad"
    wanted = {"iwarp_rdma.opcode": header[1] & 0x0f}
    for name, at, size in TAGGED if header[0] & 0x80 else UNTAGGED:
        wanted[name] = int.from_bytes(header[at:at + size], "big")
    return all(name in fields and int(fields[name], 0) == value for name, value in wanted.items())


def have_same_bytes(wire, trace, ports):
    """
    True if the TCP streams are equal. If a segment of the wire ends less than 8 bytes after the beginning of an FPDU,
    tshark loses the rest of the stream. A trace's capture has one FPDU in a packet.
    """
    key = tuple(map(str, ports))
    return streams(wire).get(key) == streams(trace).get(key)


def is_reset_by_peer(wire, trace, ports):
    """True if the receiver of this direction sent a RST, and all bytes of the wire begin those of the trace."""
    key = tuple(map(str, ports))
    resets = tshark(wire, "-Y", f"tcp.flags.reset == 1 && tcp.srcport == {ports[1]} && tcp.dstport == {ports[0]}")
    return bool(resets) and streams(trace).get(key, b"").startswith(streams(wire).get(key, b""))


def differences(wire, trace):
    """Compares two captures. Returns the number of equal frames, and sentences about what differs."""
    seen = frames(trace)
    real = frames(wire, sorted({port for pair in seen for port in pair})) if seen else {}
    equal, found = 0, []
    for pair, got in seen.items():
        want = real.get(pair, [])
        same = 0
        while same < min(len(got), len(want)) and got[same] == want[same]:
            same += 1
        equal += same
        terminates = [frame for frame in seen.get(pair[::-1], ()) if "iwarp_rdma.opcode=0x07" in frame]
        is_end = got and any(names(terminate, got[-1]) for terminate in terminates)
        is_other = same < len(got) or (same < len(want) and not is_end)
        if is_other and have_same_bytes(wire, trace, pair):     # but tshark has lost the frames of the wire
            equal += len(got) - same
        elif is_other and not (same == len(want) and is_reset_by_peer(wire, trace, pair)):
            found.append(f"from port {pair[0]} to {pair[1]}, frame {same + 1} of {len(want)} on the wire and "
                         f"{len(got)} in the trace: {(want[same:] or ['none'])[0]!r} and "
                         f"{(got[same:] or ['none'])[0]!r}")
    found += [f"from port {pair[0]} to {pair[1]}: {len(want)} frames on the wire, none in the trace"
              for pair, want in real.items() if pair not in seen]
    return equal, found
