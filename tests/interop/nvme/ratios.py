#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares nvme-rdma over siw to samples/nvme-target with nvme-tcp to nvmet-tcp and nvme-rdma to nvmet-rdma, all in one
guest.

    ratios.py --target build/release/samples/nvme-target [--rounds N] [--seconds S] [--cache DIR] [--json FILE]

All ends run on the same four emulated processors, with disks of memory, so only the ratios mean something. The three
are measured in turn; the table has medians. With checksums: MPA's CRC, and the digests of NVMe/TCP. nvmet-rdma never
has checksums, because siw as initiator does not ask for them.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from peers import GUEST_ADDRESS, NQN, Failed, Machine, Network

OURS, TCP, LINUX = "ours", "nvmet-tcp", "nvmet-rdma"
PORTS, DISK_MIB = {OURS: 4430, TCP: 4431, LINUX: 4432}, 128
LOADS = [(operation, size, depth) for size, depths in ((4096, (1, 4, 16, 64)), (131072, (1, 8)))
         for operation in ("read", "write") for depth in depths]
IN_GUEST = "/opt/openndk"


def libraries(program):
    listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"(?:=> |^\s+)(/\S+)", listed, re.M)


def pack(archive, program):
    """Writes an initramfs with the program and its libraries."""
    with tempfile.TemporaryDirectory() as root:
        folder = root + IN_GUEST
        os.makedirs(folder)
        shutil.copy(program, folder)
        for path in libraries(program):     # the linker is found by its path, the libraries by LD_LIBRARY_PATH
            if "ld-linux" not in path:
                shutil.copy(path, folder)
        with open(archive, "wb") as f:
            names = subprocess.run(["find", "."], cwd=root, stdout=subprocess.PIPE, check=True).stdout
            subprocess.run(["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"], cwd=root, input=names, stdout=f,
                           check=True)


def start_script(program, checksums):
    crc = "1" if checksums else "0"
    digests = "--hdr-digest --data-digest" if checksums else ""
    return f"""set -e
        ip link set lo mtu 1500
        modprobe brd rd_nr=1 rd_size={DISK_MIB * 1024}
        dd if=/dev/zero of=/dev/ram0 bs=1M 2>/dev/null || true
        nvme-serve tcp {PORTS[TCP]} {NQN}-{TCP} /dev/ram0
        nvme-serve rdma {PORTS[LINUX]} {NQN}-{LINUX} /dev/ram0
        ONDK_CRC={crc} LD_LIBRARY_PATH={IN_GUEST} {IN_GUEST}/{os.path.basename(program)} \\
            --listen {GUEST_ADDRESS}:{PORTS[OURS]} --nqn {NQN}-{OURS} --memory {DISK_MIB}M >/tmp/target.log 2>&1 &
        wait-listen {PORTS[OURS]} || {{ cat /tmp/target.log; exit 1; }}
        nvme-attach rdma {GUEST_ADDRESS} {PORTS[OURS]} {NQN}-{OURS} 4
        nvme-attach tcp {GUEST_ADDRESS} {PORTS[TCP]} {NQN}-{TCP} 4 {digests}
        nvme-attach rdma {GUEST_ADDRESS} {PORTS[LINUX]} {NQN}-{LINUX} 4"""


def measure(machine, device, load, seconds):
    operation, size, depth = load
    output = machine.run(f"blockload rate /dev/{device}n1 {operation} {size} {depth} {seconds}")
    return {name: float(value) for name, value in re.findall(r"(iops|mib_per_second)=([0-9.]+)", output)}


def compare(opt, archive, checksums):
    machine = Machine(opt.cache, options=["-i", archive])
    taken = {load: {name: [] for name in PORTS} for load in LOADS}
    try:
        devices = dict(zip(PORTS, machine.run(start_script(opt.target, checksums)).split()))
        for _ in range(opt.rounds):
            for load in LOADS:
                for name, device in devices.items():
                    taken[load][name].append(measure(machine, device, load, opt.seconds)["iops"])
    finally:
        machine.kill()
    return taken


def print_table(title, taken):
    print(f"\n{title}, requests/s\n{'':24}" + "".join(f"{name:>12}" for name in PORTS) +
          "".join(f"{'ours/' + name + ' (range)':>32}" for name in (TCP, LINUX)))
    for (operation, size, depth), seen in taken.items():
        line = f"{f'{operation} {size // 1024} KiB, depth {depth}':24}"
        line += "".join(f"{statistics.median(seen[name]):>12.0f}" for name in PORTS)
        for name in (TCP, LINUX):
            ratios = [ours / other for ours, other in zip(seen[OURS], seen[name])]
            line += f"{f'{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})':>32}"
        print(line, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--target", required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--cache", default=os.path.expanduser("~/.cache/openndk/siw-guest"))
    p.add_argument("--json", help="a file for all measurements")
    opt = p.parse_args()
    Network.enter()
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        archive = os.path.join(directory, "target.cpio")
        pack(archive, opt.target)
        for checksums in (False, True):
            title = "with checksums" if checksums else "without checksums"
            try:
                results[title] = compare(opt, archive, checksums)
            except Failed as e:
                sys.exit(f"{title}: {e}")
            print_table(title, results[title])
    if opt.json:
        with open(opt.json, "w", encoding="utf-8") as f:
            json.dump({title: [{"load": load, **seen} for load, seen in taken.items()]
                       for title, taken in results.items()}, f, indent=1)


if __name__ == "__main__":
    main()
