# SPDX-License-Identifier: MIT
"""Linux' nvme-rdma in the guest is the host of samples/nvme-target on this machine, as a program or as a driver."""
import contextlib
import os
import signal
import socket
import sys
import time

from peers import HERE, HOST_ADDRESS, NOTHING_LEFT, NQN, Failed, Network, free_ports, running

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "capture"))
from check_nvme import differences  # noqa: E402

DISSECTED = ("Connect", "Identify Controller", "Get Log Page NVMeOF Discovery", "Read", "Write")
DISK_MIB = 128
CYCLES = 10
CONNECT = "--reconnect-delay=1 --ctrl-loss-tmo=60 --keep-alive-tmo=5"


class Target:
    """samples/nvme-target with a disk in a file, on a port of its own: the program, or the driver under ndkrun."""

    def __init__(self, peers, crc, uses_srq=False):
        """uses_srq: one shared receive queue, and fast registration."""
        self.peers, self.port, self.uses_srq = peers, free_ports(1)[0], uses_srq
        self.environment = {"ONDK_CRC": "1" if crc == "on" else "0"}
        self.files = peers.path(f"files.{self.port}")
        self.disk = os.path.join(self.files, "C", "disk.img")
        os.makedirs(os.path.dirname(self.disk))
        with open(self.disk, "wb") as f:
            f.truncate(DISK_MIB << 20)

    def is_driver(self):
        return self.peers.command[-1].endswith(".so")

    def command(self):
        if not self.is_driver():
            more = ["--srq", "1024", "--fast"] if self.uses_srq else []
            return [*self.peers.command, "--listen", f"{Network.here}:{self.port}", "--nqn", NQN, "--file", self.disk,
                    *more]
        more = ("SrqDepth=dword:1024", "Fast=dword:1") if self.uses_srq else ()
        registry = (*more, f"Interface=dword:{socket.if_nametoindex(Network.interface)}",
                    f"Address=sz:{Network.here}", f"Port=dword:{self.port}", f"Nqn=sz:{NQN}",
                    "Files=multi_sz:\\??\\C:\\disk.img")
        options = [word for value in registry for word in ("--reg", value)]
        return [*self.peers.command[:-1], "--verify", "stop,full,stall=0", "--files", self.files, *options,
                self.peers.command[-1]]

    @contextlib.contextmanager
    def serving(self):
        with running(self.command(), self.environment) as program:
            program.wait_for_listener(self.port)
            yield program

    def stop(self, program):
        """Stops the target. What the driver leaves behind, and a rule that it broke, are failures."""
        status, output = program.stop(signal.SIGINT)
        if status or self.is_driver() and NOTHING_LEFT not in output:
            raise Failed(f"expected a clean end of {program.command}, saw exit status {status}: {output[-2500:]!r}")

    def attach(self, queues, options=""):
        return f"nvme-attach rdma {HOST_ADDRESS} {self.port} {NQN} {queues} {CONNECT} {options}"


def discover(target):
    return f"""nvme discover -t rdma -a {HOST_ADDRESS} -s {target.port} >/tmp/discovered ||
            {{ cat /tmp/discovered; exit 1; }}
        grep -q {NQN} /tmp/discovered || {{ cat /tmp/discovered; exit 1; }}"""


def cycle(target, queues):
    """Connects, makes a file tree, compares it, disconnects."""
    return f"""set -e
        name=$({target.attach(queues)}) || {{ echo "$name"; exit 1; }}
        nvme id-ctrl /dev/$name | grep -q {NQN}
        want=$(({queues} + 1)); made=$(cat /sys/class/nvme/$name/queue_count)
        [ $made = $want ] || {{ echo "expected $want queues, saw $made"; exit 1; }}
        nvme-tree /dev/${{name}}n1
        nvme disconnect -n {NQN} | grep -q 'disconnected 1'"""


def tree(crc, cycles=CYCLES, uses_srq=False):
    def scenario(peers):
        target = Target(peers, crc, uses_srq)
        with target.serving() as program:
            peers.machine.run(discover(target))
            for number in range(cycles):
                for queues in (1, 4):
                    try:
                        peers.machine.run(cycle(target, queues))
                    except Failed as e:
                        raise Failed(f"cycle {number + 1} with {queues} I/O queues: {e}; {program.describe()}") from e
            target.stop(program)
    return scenario


def killed(peers):
    """kill -9 of the target in mid-I/O, twice: Linux reconnects, and each acknowledged write is on the disk."""
    target = Target(peers, "on")
    with target.serving() as program:
        job = peers.machine.start(f"""set -e
            name=$({target.attach(4)}) || {{ echo "$name"; exit 1; }}
            dmesg -c >/dev/null
            blockload keep /dev/${{name}}n1 64 32 16
            echo reconnects=$(dmesg | grep -c 'Successfully reconnected')
            nvme disconnect -n {NQN}""")
        peers.machine.wait_for(job, "@writing")
        time.sleep(1)
        program.process.kill()
        program.wait()
    time.sleep(1)
    with target.serving() as program:
        time.sleep(4)
        program.process.kill()
        program.wait()
    with target.serving() as program:
        status, output = peers.machine.end(job)
        if status or " failed=0 lost=0" not in output or "reconnects=2" not in output:
            raise Failed(f"expected two reconnects, no failed and no lost write, saw {status}: {output!r}; "
                         f"the kernel's last messages: {peers.machine.kernel_says()!r}; {program.describe()}")
        target.stop(program)
    return output.splitlines()[0]


def resized(peers):
    """The file grows while Linux uses the disk: after SIGHUP of the target, Linux has the new size and its blocks."""
    target = Target(peers, "on")
    if target.is_driver():
        return "left out: ndkrun sends the device control only when it starts"
    with target.serving() as program:
        job = peers.machine.start(f"""set -e
            name=$({target.attach(1)}) || {{ echo "$name"; exit 1; }}
            echo @attached
            size=/sys/block/${{name}}n1/size
            for i in $(seq 100); do [ $(cat $size) = {DISK_MIB * 4096} ] && break; sleep 0.1; done
            echo size=$(cat $size)
            dd if=/dev/urandom of=/tmp/bytes bs=64k count=1 2>/dev/null
            dd if=/tmp/bytes of=/dev/${{name}}n1 bs=64k seek={DISK_MIB * 32 - 1} oflag=direct conv=fsync 2>/dev/null
            dd if=/dev/${{name}}n1 bs=64k skip={DISK_MIB * 32 - 1} iflag=direct 2>/dev/null | cmp - /tmp/bytes
            nvme disconnect -n {NQN}""")
        peers.machine.wait_for(job, "@attached")
        os.truncate(target.disk, DISK_MIB << 21)
        program.process.send_signal(signal.SIGHUP)
        status, output = peers.machine.end(job)
        if status or f"size={DISK_MIB * 4096}" not in output:
            raise Failed(f"expected twice the size, saw {status}: {output!r}; {program.describe()}")
        target.stop(program)
    return None


def capture(peers):
    """Wireshark's dissector knows each command and each completion in the target's trace."""
    target, trace = Target(peers, "on"), peers.path("target.trace")
    target.environment["ONDK_TRACE"] = f"{trace},64M,payload=64000"
    with target.serving() as program:
        peers.machine.run(f"""{discover(target)}
            set -e
            name=$({target.attach(2)}) || {{ echo "$name"; exit 1; }}
            dd if=/dev/urandom of=/tmp/bytes bs=64k count=8 2>/dev/null
            dd if=/tmp/bytes of=/dev/${{name}}n1 bs=64k oflag=direct conv=fsync 2>/dev/null
            dd if=/dev/${{name}}n1 bs=64k count=8 iflag=direct 2>/dev/null | cmp - /tmp/bytes
            nvme disconnect -n {NQN}""")
        target.stop(program)
    found, _ = differences(peers.need_ndktrace(), trace, target.port, DISSECTED)
    if found:
        raise Failed("; ".join(found))


SCENARIOS = {"target-capture": capture, "target-crc-on": tree("on"), "target-crc-off": tree("off"),
             "target-srq-fast": tree("on", 2, uses_srq=True),
             "target-killed": killed, "target-resized": resized}
