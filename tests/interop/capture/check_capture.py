#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a capture of OpenNDK's traffic with Wireshark's dissectors.

check_capture.py PCAP --fpdus N [--crc on|off] [--revision 1|2]

Status 0: tshark finds exactly N FPDUs, each with a valid CRC (with --crc off: without CRCs), and no expert item of the
MPA and DDP/RDMAP layers. 1: the result differs, and the difference is printed. 77: tshark is not installed.

Wireshark supports only RFC 5044: it warns about revision 2 and its S flag in every request. With --revision 2 exactly
these two warnings must occur, with --revision 1 none.
"""
import argparse
import collections
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

# The heuristic for MPA comes before dissectors that own a port, and nothing looks for another protocol in a Send.
OPTIONS = ["-n", "-o", "tcp.try_heuristic_first:TRUE", "-o", "tcp.reassemble_out_of_order:TRUE",
           "--enable-protocol", "iwarp_mpa", "--enable-protocol", "iwarp_ddp_rdmap",
           "--disable-protocol", "rpcordma", "--disable-protocol", "smb_direct"]
REVISION_2_WARNINGS = {"Res field is NOT set to zero as required by RFC 5044",
                       "Rev field is NOT set to one as required by RFC 5044"}
EXPERT_ROW = re.compile(r"^\s*\d+\s+\S+\s+(IWARP_\w+)\s+(.*\S)\s*$")


def tshark(pcap, *options):
    done = subprocess.run(["tshark", "-r", pcap, *OPTIONS, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace")
    if done.returncode:
        raise RuntimeError(f"tshark: {done.stderr.strip()}")
    return done.stdout


def count(pcap):
    """How many of each: request, reply, FPDU, and FPDUs by what tshark says of their CRC."""
    counts = collections.Counter()
    root = ET.fromstring(tshark(pcap, "-Y", "iwarp_mpa", "-T", "pdml"))
    for field in root.iter("field"):
        name = field.get("name")
        if name in ("iwarp_mpa.req", "iwarp_mpa.rep", "iwarp_mpa.fpdu"):
            counts[name[len("iwarp_mpa."):]] += 1
        elif name == "iwarp_mpa.crc_check":
            counts["good" if "(Good CRC32)" in field.get("showname") else "bad"] += 1
    return counts


def expert_items(pcap):
    """The summaries of all expert items of our layers, whatever their severity."""
    rows = map(EXPERT_ROW.match, tshark(pcap, "-q", "-z", "expert").splitlines())
    return {row.group(2) for row in rows if row}


def differences(pcap, fpdus, crc, revision):
    counts, items = count(pcap), expert_items(pcap)
    want = {"fpdu": fpdus, "good": fpdus if crc else 0, "bad": 0}
    found = [f"expected {n} of {what}, saw {counts[what]}" for what, n in want.items() if counts[what] != n]
    if not counts["req"] or counts["req"] != counts["rep"]:
        found.append(f"expected as many requests as replies, saw {counts['req']} and {counts['rep']}")
    wanted_items = REVISION_2_WARNINGS if revision == 2 else set()
    found += [f"expert item: {item}" for item in sorted(items - wanted_items)]
    found += [f"no warning any more: {item}" for item in sorted(wanted_items - items)]
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("pcap")
    p.add_argument("--fpdus", type=int, required=True)
    p.add_argument("--crc", choices=("on", "off"), default="on")
    p.add_argument("--revision", type=int, choices=(1, 2), default=2)
    opt = p.parse_args()
    if not shutil.which("tshark"):
        print("skipped: no tshark")
        return 77
    found = differences(opt.pcap, opt.fpdus, opt.crc == "on", opt.revision)
    print("\n".join(found) or f"{opt.fpdus} FPDUs, as sent")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
